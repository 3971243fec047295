#pragma once

#include "cli/command_line.hpp"
#include "cli/generation_options.hpp"
#include "cli/word_wrap.hpp"

#include <string>
#include <vector>

namespace etna::cli {

/// The value of an option, as it would be typed.
struct Setting {
    std::string name;
    std::string value;
};

/// `etna chat`'s options of generation, which /set changes while it runs.
class ChatSettings {
public:
    /// Borrows `command`. Errors: invalid_argument.
    static Result<ChatSettings> create(const Command& command, TypedArguments arguments);

    /// As --NAME VALUE would; a flag needs no value, `off` takes it back. Errors: invalid_argument; nothing
    /// is changed then.
    Status set(const std::string& name, const std::string& value);

    /// What entries() of another chat gave: these settings take the place of those of the same names, the
    /// others stay. Errors: invalid_argument; nothing is changed then.
    Status restore(const std::vector<Setting>& settings);

    [[nodiscard]] const GenerationOptions& generation() const { return generation_; }
    [[nodiscard]] Lines lines() const { return lines_; }

    /// Every option that was given or set and can be set; those that may be given several times as often.
    [[nodiscard]] std::vector<Setting> entries() const;

private:
    explicit ChatSettings(const Command& command) : command_(&command) {}

    /// Reads all of them anew. Errors: invalid_argument; nothing is changed then.
    Status take(TypedArguments arguments);

    const Command* command_;
    TypedArguments arguments_;
    GenerationOptions generation_;
    Lines lines_ = Lines::between_words;
};

} // namespace etna::cli
