#pragma once

#include "cli/terminal/diagnostics.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/jinja/value.hpp"
#include "core/output/event.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// The tools of a user's file: a JSON list of tools as in OpenAI's API, or of their functions alone. An
/// additional member `command` is run by the shell when the model calls the tool.
class Tools {
public:
    Tools() = default;

    /// Errors: not_found, io, invalid_argument (not such a list, with the position).
    static Result<Tools> read(const std::filesystem::path& path);
    /// Reads the tools of a conversation. Ignores any `command`, because users do not expect one there.
    static Result<Tools> from_conversation(const std::vector<jinja::Value>& given, const std::string& name);

    /// Absolute path of the tools file; empty for a conversation's tools.
    [[nodiscard]] const std::filesystem::path& file() const { return file_; }
    [[nodiscard]] bool is_empty() const { return commands_.empty(); }
    /// Definitions for the model, without the commands.
    [[nodiscard]] const std::vector<jinja::Value>& definitions() const { return definitions_; }
    [[nodiscard]] bool knows(std::string_view name) const { return commands_.contains(name); }
    /// The command of a tool; empty if it has none, or if there is no such tool.
    [[nodiscard]] std::string_view command(std::string_view name) const;
    /// Commands by tool name; empty for a tool without a command.
    [[nodiscard]] const std::map<std::string, std::string, std::less<>>& commands() const {
        return commands_;
    }
    /// Tools of a conversation whose commands were ignored.
    [[nodiscard]] const std::vector<std::string>& ignored_commands() const { return ignored_commands_; }

private:
    static Result<Tools> of_list(Json list, const std::string& name);

    std::filesystem::path file_;
    std::vector<jinja::Value> definitions_;
    std::map<std::string, std::string, std::less<>> commands_;
    std::vector<std::string> ignored_commands_;
};

/// Reports which commands of a conversation are ignored, and where commands are accepted.
void report_ignored_commands(Diagnostics& diagnostics, const Tools& tools);

/// Formats a call for the user, on one line: roll_dice {"sides":6}.
std::string describe(const output::Call& call);
/// Formats a call for programs, on one line: {"name":"roll_dice","arguments":{"sides":6}}.
std::string call_json(const output::Call& call);

} // namespace etna::cli
