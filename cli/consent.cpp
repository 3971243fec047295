#include "cli/consent.hpp"

#include <string>

#include <fmt/format.h>

namespace etna::cli {

Leave ToolConsent::ask(std::string_view command, const generate::StopRequested& stop_requested,
                       Diagnostics& diagnostics) {
    if (consent_ == Consent::given)
        return Leave::given;
    const std::string question = fmt::format("run `{}`? [y]es, [N]o, [a]lways: ", command);
    const TerminalAnswer answer = environment_->ask_at_terminal
                                      ? environment_->ask_at_terminal(question, stop_requested)
                                      : TerminalAnswer();
    if (answer.kind == TerminalAnswer::Kind::stopped)
        return Leave::stopped;
    if (answer.kind == TerminalAnswer::Kind::nobody) {
        diagnostics.note("there is nobody to ask, so it is not run; --yes agrees to every call");
        return Leave::refused;
    }
    if (answer.line == "a" || answer.line == "always")
        consent_ = Consent::given;
    const bool agrees = consent_ == Consent::given || answer.line == "y" || answer.line == "yes";
    return agrees ? Leave::given : Leave::refused;
}

} // namespace etna::cli
