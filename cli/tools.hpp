#pragma once

#include "cli/diagnostics.hpp"
#include "core/base/result.hpp"
#include "core/chat/output/event.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// The tools of a file that a user brought: a JSON list of tools as in OpenAI's API, or of their functions
/// alone. A `command` beside the name is what the shell runs when the model calls it.
class Tools {
public:
    Tools() = default;

    /// Errors: not_found, io, invalid_argument (no such list, with the place).
    static Result<Tools> read(const std::filesystem::path& path);
    /// Those of a conversation: a `command` there is not taken, because nobody looks for one there.
    static Result<Tools> of_conversation(const std::string& json, const std::string& name);

    /// Where they were read from, absolute; empty where they are a conversation's.
    [[nodiscard]] const std::filesystem::path& file() const { return file_; }
    [[nodiscard]] bool is_empty() const { return commands_.empty(); }
    /// What the model is told: JSON text, without the commands; empty where there are no tools.
    [[nodiscard]] const std::string& definitions() const { return definitions_; }
    [[nodiscard]] bool knows(std::string_view name) const { return commands_.contains(name); }
    /// The command of a tool; empty where it has none, or there is no such tool.
    [[nodiscard]] std::string_view command(std::string_view name) const;
    /// By name; a tool without a command has an empty one.
    [[nodiscard]] const std::map<std::string, std::string, std::less<>>& commands() const {
        return commands_;
    }
    /// Tools of a conversation whose commands were not taken.
    [[nodiscard]] const std::vector<std::string>& refused() const { return refused_; }

private:
    static Result<Tools> parse(const std::string& json, const std::string& name);

    std::filesystem::path file_;
    std::string definitions_;
    std::map<std::string, std::string, std::less<>> commands_;
    std::vector<std::string> refused_;
};

/// Says which commands of a conversation are not taken, and where they would be.
void tell_refused(Diagnostics& diagnostics, const Tools& tools);

/// For people, on one line: roll_dice {"sides":6}.
std::string describe(const chat::output::Call& call);
/// For programs, on one line: {"name":"roll_dice","arguments":{"sides":6}}.
std::string call_json(const chat::output::Call& call);

} // namespace etna::cli
