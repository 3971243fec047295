#pragma once

#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/tools/tools.hpp"
#include "core/base/cancel.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace etna::cli {

/// The decision whether a command may be run.
enum class Permission : uint8_t {
    granted,
    denied,
    no_terminal, ///< there is no terminal to ask at
    cancelled,   ///< the user ended the turn
};

/// The source of the path of a tools file with commands.
enum class NamedBy : uint8_t { user, conversation };

/// The user's consent to run commands for the model.
class ToolConsent {
public:
    /// Starts without any consent. Borrows `environment`.
    ToolConsent(const Environment& environment, Consent consent)
        : environment_(&environment), consent_(consent) {}

    /// Replaces the tools: earlier "always" answers no longer apply. Consent::given covers only the commands
    /// of files that the user named.
    void reset(const Tools& tools, NamedBy by);

    /// Reports the call and asks at the terminal whether the tool's command may be run, unless this command
    /// of this tool already has consent: "yes", "always" or anything else for no. Blocks until an answer or
    /// until `is_cancelled` returns true.
    Permission ask(const output::Call& call, std::string_view command, const CancelPoll& is_cancelled,
                   Diagnostics& diagnostics);

private:
    using Agreements = std::set<std::pair<std::string, std::string>>; ///< pairs of tool name and command

    const Environment* environment_;
    Consent consent_;
    Agreements agreed_by_option_;
    Agreements always_;
};

} // namespace etna::cli
