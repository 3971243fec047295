#pragma once

#include "cli/diagnostics.hpp"
#include "cli/environment.hpp"
#include "cli/generation_options.hpp"

#include <cstdint>
#include <string_view>

namespace etna::cli {

/// Whether a command may be run.
enum class Leave : uint8_t {
    given,
    refused,
    stopped, ///< the user wants the whole turn to end
};

/// The user's leave to run commands for the model.
class ToolConsent {
public:
    /// Borrows `environment`.
    ToolConsent(const Environment& environment, Consent consent)
        : environment_(&environment), consent_(consent) {}

    /// Asks at the terminal, unless leave was given for all: "yes", "always" or anything else for no. Without
    /// a terminal the answer is no, and says so. Blocking, until `stop_requested` says so.
    Leave ask(std::string_view command, const generate::StopRequested& stop_requested,
              Diagnostics& diagnostics);

private:
    const Environment* environment_;
    Consent consent_;
};

} // namespace etna::cli
