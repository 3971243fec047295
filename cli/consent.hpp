#pragma once

#include "cli/diagnostics.hpp"
#include "cli/environment.hpp"
#include "cli/generation_options.hpp"
#include "cli/tools.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace etna::cli {

/// Whether a command may be run.
enum class Leave : uint8_t {
    given,
    refused,
    nobody,  ///< there is nobody who could give it
    stopped, ///< the user wants the whole turn to end
};

/// Who named the file that tools with commands come from.
enum class NamedBy : uint8_t { user, conversation };

/// The user's leave to run commands for the model.
class ToolConsent {
public:
    /// Nothing is agreed to. Borrows `environment`.
    ToolConsent(const Environment& environment, Consent consent)
        : environment_(&environment), consent_(consent) {}

    /// These are the tools from here on: what "always" agreed to before is asked about anew. Consent::given
    /// covers the commands of every file that the user named himself, and no others.
    void begin_with(const Tools& tools, NamedBy by);

    /// Tells of the call and asks at the terminal whether the tool's command may be run for it, unless leave
    /// was given for this command of this tool: "yes", "always" or anything else for no. Blocking, until
    /// `stop_requested` says so.
    Leave ask(const chat::output::Call& call, std::string_view command,
              const generate::StopRequested& stop_requested, Diagnostics& diagnostics);

private:
    using Agreed = std::set<std::pair<std::string, std::string>>; ///< tools' names and commands

    const Environment* environment_;
    Consent consent_;
    Agreed by_option_;
    Agreed always_;
};

} // namespace etna::cli
