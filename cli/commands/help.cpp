#include "cli/commands/documents.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

constexpr std::size_t columns = 80;
constexpr std::size_t option_column = 26; ///< start column of descriptions

/// Appends `text` broken into lines, each after `indent` spaces; the cursor is already at that column.
void append_wrapped(std::string& page, std::string_view text, std::size_t indent) {
    std::size_t column = indent;
    bool first = true;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!first && column + 1 + word.size() > columns) {
            page += fmt::format("\n{}", std::string(indent, ' '));
            column = indent;
        } else if (!first) {
            page += ' ';
            ++column;
        }
        page += word;
        column += word.size();
        first = false;
    }
    page += '\n';
}

/// Appends one row of two columns: " left description".
void append_row(std::string& page, std::string_view left, std::string_view description) {
    std::string start = fmt::format("  {}", left);
    if (start.size() + 2 > option_column) {
        start += '\n' + std::string(option_column, ' ');
    } else {
        start.resize(option_column, ' ');
    }
    page += start;
    append_wrapped(page, description, option_column);
}

/// Aligns the long names.
std::string indented_signature(const Option& option) {
    return option.short_name == 0 ? "    " + signature(option) : signature(option);
}

void append_options(std::string& page, std::span<const Option> options) {
    for (const auto& [category, shown] : by_category(options)) {
        page += fmt::format("\n{}:\n", title(category));
        for (const Option* option : shown) {
            append_row(page, indented_signature(*option),
                       fmt::format("{}{}", option->description, details(*option)));
        }
    }
}

void append_paragraphs(std::string& page, std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = text.find("\n\n");
        append_wrapped(page, text.substr(0, end), 0);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
        page += text.empty() ? "" : "\n";
    }
}

/// Returns the command's first option of that kind, for examples; null if it has none.
const Option* first_of(const Command& command, Kind kind) {
    const auto found =
        std::find_if(command.options.begin(), command.options.end(), [&](const Option& option) {
            return option.kind == kind && option.visibility == Visibility::shown &&
                   has_environment_name(option);
        });
    return found == command.options.end() ? nullptr : &*found;
}

void append_settings(std::string& page, const Command& command) {
    const Option* integer = first_of(command, Kind::integer);
    const Option* flag = first_of(command, Kind::flag);
    const Option* number = first_of(command, Kind::number);
    std::vector<std::string> twins;
    if (integer != nullptr)
        twins.push_back(fmt::format("{}=32 is --{} 32", environment_name(*integer), integer->name));
    if (flag != nullptr)
        twins.push_back(fmt::format("{}=1 is --{}", environment_name(*flag), flag->name));
    if (twins.empty())
        return;
    const std::string line = number != nullptr ? fmt::format("{} = 0.5", number->name)
                             : flag != nullptr ? fmt::format("{} = true", flag->name)
                                               : fmt::format("{} = 32", integer->name);
    page += "\nSettings:\n";
    append_row(page, "ETNA_*",
               fmt::format("environment variables of the options: {}; other names are ignored",
                           fmt::join(twins, ", ")));
    append_row(page, "config.toml",
               fmt::format("in $XDG_CONFIG_HOME/etna (else ~/.config/etna): lines such as {}; precedence: "
                           "command line, environment, this file",
                           line));
}

void append_exit_codes(std::string& page, std::span<const ExitCodeText> codes) {
    page += "\nExit codes:\n";
    for (const ExitCodeText& code : codes)
        append_row(page, fmt::format("{}", code.code), code.description);
}

/// Returns the short form of --help: the most needed options, one line each.
std::string brief_help(const Command& command) {
    constexpr std::size_t examples_max = 3;
    std::string page =
        fmt::format("etna {}: {}\n\nUsage: {}\n\n", command.name, command.summary, synopsis(command));
    for (const Positional& positional : command.positionals) {
        append_row(page, positional.name,
                   positional.brief.empty() ? positional.description : positional.brief);
    }
    page += "\nOptions:\n";
    for (const Option& option : command.options) {
        if (!option.brief.empty() && option.visibility == Visibility::shown)
            append_row(page, indented_signature(option), option.brief);
    }
    page += "\nExamples:\n";
    for (const Example& example : command.examples.first(std::min(examples_max, command.examples.size())))
        page += fmt::format("  {}\n", example.command);
    return page;
}

} // namespace

std::map<Category, std::vector<const Option*>> by_category(std::span<const Option> options) {
    std::map<Category, std::vector<const Option*>> shown;
    for (const Option& option : options) {
        if (option.visibility == Visibility::shown)
            shown[option.category].push_back(&option);
    }
    return shown;
}

std::string signature(const Option& option) {
    std::string result = option.short_name == 0 ? "" : fmt::format("-{}, ", option.short_name);
    result += fmt::format("--{}", option.name);
    return option.value.empty() ? result : fmt::format("{} {}", result, option.value);
}

std::string details(const Option& option) {
    std::string result;
    if (option.kind == Kind::choice)
        result += fmt::format(" ({})", fmt::join(option.choices, ", "));
    if (const std::string range = describe(option.range, option.kind); !range.empty())
        result += fmt::format(" ({})", range);
    if (!option.default_text.empty()) {
        result += fmt::format(" [default{}: {}]",
                              option.absence.empty() ? "" : fmt::format(", or {}", option.absence),
                              option.default_text);
    }
    return result;
}

std::string synopsis(const Command& command) {
    std::string result = fmt::format("etna {} [OPTION]...", command.name);
    for (const Positional& positional : command.positionals) {
        result += positional.presence == Presence::required ? fmt::format(" {}", positional.name)
                                                            : fmt::format(" [{}]", positional.name);
        if (positional.repeat == Repeat::collect)
            result += "...";
    }
    if (!command.rest.name.empty())
        result += fmt::format(" [-- {}...]", command.rest.name);
    return result;
}

std::string help() {
    std::string page =
        "etna " ETNA_VERSION ": runs language models (GGUF files) on any GPU through Vulkan\n\n"
        "Usage: etna COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n";
    for (const Command& command : commands()) {
        if (command.visibility == Visibility::shown)
            append_row(page, command.name, command.summary);
    }
    append_options(page, global_options());
    append_exit_codes(page, all_exit_codes());
    page += "\n`etna COMMAND --help` describes a command, --help-all all its options.\n"
            "To start: etna run demo \"What is 34 + 58?\"\n";
    return page;
}

std::string help(const Command& command) {
    constexpr std::size_t listed_whole_max = 40;
    return command.options.size() > listed_whole_max ? brief_help(command) : full_help(command);
}

std::string full_help(const Command& command) {
    std::string page =
        fmt::format("etna {}: {}\n\nUsage: {}\n\n", command.name, command.summary, synopsis(command));
    append_paragraphs(page, command.description);
    if (!command.positionals.empty())
        page += "\nArguments:\n";
    for (const Positional& positional : command.positionals)
        append_row(page, positional.name, positional.description);
    if (!command.rest.name.empty())
        append_row(page, command.rest.name, command.rest.description);
    append_options(page, command.options);
    if (has_settings(command))
        append_settings(page, command);
    append_exit_codes(page, exit_codes_of(command));
    if (!command.examples.empty())
        page += "\nExamples:\n";
    for (const Example& example : command.examples)
        page += fmt::format("  {}\n      {}\n", example.command, example.description);
    return page;
}

} // namespace etna::cli
