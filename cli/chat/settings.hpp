#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/terminal/word_wrap.hpp"

#include <string>
#include <vector>

namespace etna::cli {

/// An option and its value as typed.
struct Setting {
    std::string name;
    std::string value;
};

/// The generation options of `etna chat`, which /set changes during the chat.
class ChatSettings {
public:
    /// Borrows `command`. Errors: invalid_argument.
    static Result<ChatSettings> create(const Command& command, TypedArguments arguments);

    /// Sets an option like --NAME VALUE; a flag needs no value, and `off` clears it. Names of Ollama's are
    /// accepted, such as num_predict and nowordwrap. Errors: invalid_argument, without any change.
    Status set(const std::string& name, const std::string& value);

    /// Restores entries() of another chat: these settings replace those of the same names; the others are
    /// unchanged. Errors: invalid_argument, without any change.
    Status restore(const std::vector<Setting>& settings);

    /// Returns whether /set NAME without a value changes something: NAME is a flag.
    [[nodiscard]] bool is_switch(const std::string& name) const;

    /// Returns the lines of /set NAME: the option's values, or its default. Errors: invalid_argument
    /// (unknown).
    [[nodiscard]] Result<std::vector<std::string>> lines_of(const std::string& name) const;

    [[nodiscard]] const GenerationOptions& generation() const { return generation_; }
    [[nodiscard]] LineWrap lines() const { return lines_; }

    /// Every settable option that was given or set, once per value for repeatable options.
    [[nodiscard]] std::vector<Setting> entries() const;

private:
    explicit ChatSettings(const Command& command) : command_(&command) {}

    /// Reads all options again. Errors: invalid_argument, without any change.
    Status apply(TypedArguments arguments);

    const Command* command_;
    TypedArguments arguments_;
    GenerationOptions generation_;
    LineWrap lines_ = LineWrap::words;
};

} // namespace etna::cli
