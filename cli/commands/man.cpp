#include "cli/tools/documents.hpp"

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Escapes text for roff: backslashes, leading dots and quotes become literal, dashes become option dashes.
std::string roff(std::string_view text) {
    std::string result;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\''))
            result += "\\&";
        if (c == '\\') {
            result += "\\e";
        } else if (c == '-') {
            result += "\\-";
        } else if (c == '`') { // backquotes of the tables become quotes
            result += "\\(cq";
        } else {
            result += c;
        }
        line_start = c == '\n';
    }
    return result;
}

std::string header(std::string_view name, std::string_view summary, std::string_view usage) {
    std::string upper(name);
    for (char& c : upper)
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return fmt::format(".\\\" Made by `etna generate-docs {}.1` from the table of options.\n"
                       ".TH {} 1 \"\" \"etna {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n",
                       name, upper, ETNA_VERSION, roff(name), roff(summary), roff(usage));
}

void append_item(std::string& page, std::string_view term, std::string_view text) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(term), roff(text));
}

void append_man_options(std::string& page, std::span<const Option> options) {
    for (const Category category : {Category::generation, Category::sampling, Category::device,
                                    Category::server, Category::output, Category::help}) {
        bool has_title = false;
        for (const Option& option : options) {
            if (option.category != category || option.visibility == Visibility::hidden)
                continue;
            if (!has_title)
                page += fmt::format(".SS {}\n", title(category));
            has_title = true;
            append_item(page, signature(option), fmt::format("{}{}", option.description, details(option)));
        }
    }
}

std::string meaning_of(const ForeignOption& foreign, const Command& command) {
    switch (foreign.meaning) {
    case ForeignMeaning::ours:
        break;
    case ForeignMeaning::no_effect:
        return fmt::format("ignored; {}", foreign.hint);
    case ForeignMeaning::missing:
        return fmt::format("refused: {}", foreign.hint);
    }
    const Option* option = find_option(command, foreign.ours);
    if (option == nullptr)
        return fmt::format("the argument {}", foreign.ours);
    const bool names_value = option->kind != Kind::flag && !foreign.fixed.empty();
    return fmt::format("--{}{}{}", option->name, names_value ? " " : "", names_value ? foreign.fixed : "");
}

void append_foreign(std::string& page, const Command& command) {
    if (command.foreign.empty())
        return;
    page += ".SH OPTIONS OF OTHER PROGRAMS\nNames that llama.cpp's and Ollama's programs have for options "
            "are understood too:\n";
    for (const ForeignOption& foreign : command.foreign)
        append_item(page, foreign.names, meaning_of(foreign, command));
}

void append_man_exit_codes(std::string& page) {
    page += ".SH EXIT STATUS\n";
    for (const ExitCodeText& code : exit_codes())
        append_item(page, fmt::format("{}", code.code), code.description);
}

void append_environment(std::string& page, const Command& command) {
    page += ".SH ENVIRONMENT\nAn option that is absent from the command line is taken from the environment; "
            "other names that begin with ETNA_ are ignored:\n";
    for (const Option& option : command.options) {
        if (option.visibility != Visibility::shown || !has_environment_name(option))
            continue;
        std::string names = environment_name(option);
        if (!option.second_environment_name.empty())
            names += fmt::format(", {}", option.second_environment_name);
        append_item(page, names, fmt::format("--{}", option.name));
    }
    append_item(page, "NO_COLOR", "when set, messages are written without colour");
    append_item(page, "XDG_DATA_HOME",
                "models are looked for in its folder etna/models; ~/.local/share when unset");
    append_item(page, "XDG_CONFIG_HOME",
                "the configuration file is in its folder etna; ~/.config when unset");
    page += ".SH FILES\n";
    append_item(
        page, "$XDG_CONFIG_HOME/etna/config.toml",
        fmt::format(
            "defaults, one `option = value` of TOML in a line, with the long names of options and text "
            "in quotes; keys under [{}] are for this command only, and come before those at the top. The "
            "command line comes first, then the environment, "
            "then this file",
            command.name));
    append_item(page, "$XDG_DATA_HOME/etna/models/NAME.gguf",
                "the model NAME; the name demo is the built-in model's, whatever files there are");
}

} // namespace

std::string man_page() {
    std::string page = header("etna", "run language models on any GPU through Vulkan",
                              "etna COMMAND [OPTION]... [ARGUMENT]...");
    page += ".SH DESCRIPTION\n";
    page += roff("etna runs language models (GGUF files) on any device that has a Vulkan 1.2 driver.\n");
    page += ".SH COMMANDS\n";
    for (const Command& command : commands()) {
        if (command.visibility == Visibility::shown) {
            page += fmt::format(".TP\n\\fB{}\\fR\n{}; see \\fBetna\\-{}\\fR(1)\n", command.name,
                                roff(command.summary), command.name);
        }
    }
    page += ".SH OPTIONS\n";
    append_man_options(page, global_options());
    append_man_exit_codes(page);
    return page;
}

std::string man_page(const Command& command) {
    std::string page = header(fmt::format("etna-{}", command.name), command.summary, synopsis(command));
    page += ".SH DESCRIPTION\n";
    std::string_view text = command.description;
    while (!text.empty()) {
        const std::size_t end = text.find("\n\n");
        page += fmt::format("{}\n", roff(text.substr(0, end)));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
        page += text.empty() ? "" : ".PP\n";
    }
    if (!command.positionals.empty())
        page += ".SH ARGUMENTS\n";
    for (const Positional& positional : command.positionals)
        append_item(page, positional.name, positional.description);
    page += ".SH OPTIONS\n";
    append_man_options(page, command.options);
    append_foreign(page, command);
    if (has_settings(command))
        append_environment(page, command);
    append_man_exit_codes(page);
    page += ".SH EXAMPLES\n";
    for (const Example& example : command.examples)
        append_item(page, example.command, example.description);
    page += ".SH SEE ALSO\n\\fBetna\\fR(1)\n";
    return page;
}

} // namespace etna::cli
