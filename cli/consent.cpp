#include "cli/consent.hpp"

#include <string>

#include <fmt/format.h>

namespace etna::cli {

bool ToolConsent::agrees(std::string_view command, Diagnostics& diagnostics) {
    if (consent_ == Consent::given)
        return true;
    const auto answer =
        environment_->ask_at_terminal
            ? environment_->ask_at_terminal(fmt::format("run `{}`? [y]es, [N]o, [a]lways: ", command))
            : std::nullopt;
    if (!answer) {
        diagnostics.note("there is nobody to ask, so it is not run; --yes agrees to every call");
        return false;
    }
    if (*answer == "a" || *answer == "always")
        consent_ = Consent::given;
    return consent_ == Consent::given || *answer == "y" || *answer == "yes";
}

} // namespace etna::cli
