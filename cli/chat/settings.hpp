#pragma once

#include "cli/command_line.hpp"
#include "cli/generation_options.hpp"

#include <string>
#include <vector>

namespace etna::cli {

/// `etna chat`'s options of generation, which /set changes while it runs.
class ChatSettings {
public:
    /// Borrows `command`. Errors: invalid_argument.
    static Result<ChatSettings> create(const Command& command, TypedArguments arguments);

    /// As --NAME VALUE would; a flag needs no value, `off` takes it back. Errors: invalid_argument; nothing
    /// is changed then.
    Status set(const std::string& name, const std::string& value);

    [[nodiscard]] const GenerationOptions& generation() const { return generation_; }

    /// "temp 0.7" for each option that was given or set and can be set.
    [[nodiscard]] std::vector<std::string> shown() const;

private:
    ChatSettings(const Command& command, TypedArguments arguments)
        : command_(&command), arguments_(std::move(arguments)) {}

    const Command* command_;
    TypedArguments arguments_;
    GenerationOptions generation_;
};

} // namespace etna::cli
