#pragma once

#include "cli/diagnostics.hpp"
#include "cli/environment.hpp"
#include "cli/generation_options.hpp"

#include <string_view>

namespace etna::cli {

/// The user's leave to run commands for the model.
class ToolConsent {
public:
    /// Borrows `environment`.
    ToolConsent(const Environment& environment, Consent consent)
        : environment_(&environment), consent_(consent) {}

    /// Asks at the terminal, unless leave was given for all: "yes", "always" or anything else for no. Without
    /// a terminal the answer is no, and says so.
    bool agrees(std::string_view command, Diagnostics& diagnostics);

    void give() { consent_ = Consent::given; }

private:
    const Environment* environment_;
    Consent consent_;
};

} // namespace etna::cli
