#include "cli/commands/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "cli/text_io.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

constexpr std::array<std::string_view, 3> shells = {"bash", "zsh", "fish"};

constexpr std::array completion_positionals = {
    Positional{.name = "SHELL", .description = "bash, zsh or fish", .choices = shells},
};
constexpr std::array completion_examples = {
    Example{"source <(etna completion bash)", "for this shell; in ~/.bashrc, for all later ones"},
    Example{"source <(etna completion zsh)", "the same in zsh; in ~/.zshrc, after compinit"},
    Example{"etna completion zsh > ~/.zfunc/_etna", "if ~/.zfunc is a folder of $fpath"},
    Example{"etna completion fish | source", "for this fish shell"},
    Example{"etna completion fish > ~/.config/fish/completions/etna.fish", "for all later fish shells"},
};
constexpr std::array document_positionals = {
    Positional{
        .name = "DOCUMENT",
        .description =
            "etna.1 or etna-COMMAND.1; README.md, MODELS.md or etna-models.7, read from standard input"},
};
constexpr std::array only_help = {help_option, help_all_option};

std::vector<const Command*> shown_commands() {
    std::vector<const Command*> shown;
    for (const Command& command : commands()) {
        if (command.visibility == Visibility::shown)
            shown.push_back(&command);
    }
    return shown;
}

std::vector<const Option*> shown_options(std::span<const Option> options) {
    std::vector<const Option*> shown;
    for (const Option& option : options) {
        if (option.visibility == Visibility::shown)
            shown.push_back(&option);
    }
    return shown;
}

std::string words(std::span<const Option> options) {
    std::vector<std::string> result;
    for (const Option* option : shown_options(options)) {
        if (option->short_name != 0)
            result.push_back(fmt::format("-{}", option->short_name));
        result.push_back(fmt::format("--{}", option->name));
    }
    return fmt::format("{}", fmt::join(result, " "));
}

/// Escapes a description for a zsh specification, in which brackets and colons are special.
std::string zsh_text(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\')
            result += '\\';
        result += c;
    }
    return result;
}

std::string names(const Option& option) {
    return option.short_name == 0 ? fmt::format("--{}", option.name)
                                  : fmt::format("-{}|--{}", option.short_name, option.name);
}

constexpr std::string_view shell_models_folder =
    "\"${ETNA_MODELS:-${XDG_DATA_HOME:-$HOME/.local/share}/etna/models}\"";

bool takes_models(const Command& command) {
    return std::any_of(command.positionals.begin(), command.positionals.end(),
                       [](const Positional& one) { return one.completion == Completion::models; });
}

/// Returns the allowed words of the command's arguments; empty if they may be anything.
std::string argument_choices(const Command& command) {
    std::vector<std::string_view> choices;
    for (const Positional& positional : command.positionals)
        choices.insert(choices.end(), positional.choices.begin(), positional.choices.end());
    return fmt::format("{}", fmt::join(choices, " "));
}

/// Returns the kind of an option's value, by its placeholder.
Completion completion_of(const Option& option) {
    if (option.value == "MODEL")
        return Completion::models;
    if (option.value == "FOLDER")
        return Completion::folders;
    const bool is_file = option.value == "FILE" || option.value == "SCHEMA" || option.value == "TEMPLATE";
    return is_file ? Completion::files : Completion::none;
}

/// Returns the text for the kind of an option's value, from texts in the order of Completion.
std::string by_completion(const Option& option, const std::array<std::string_view, 4>& texts) {
    return std::string(texts[static_cast<std::size_t>(completion_of(option))]);
}

/// File names are data: compgen -W would expand their content.
std::string bash_models() {
    return fmt::format(
        "_etna_files() {{\n    local file\n"
        "    while IFS= read -r file; do COMPREPLY+=(\"$file\"); done < <(compgen \"$@\" -- "
        "\"$current\")\n}}\n"
        "_etna_models() {{\n"
        "    local file name folder={}\n"
        "    [[ demo == \"$current\"* ]] && COMPREPLY+=(demo)\n"
        "    for file in \"$folder\"/*.[gG][gG][uU][fF]; do\n"
        "        name=${{file##*/}} name=${{name%.*}}\n"
        "        name=${{name%-00001-of-[0-9][0-9][0-9][0-9][0-9]}}\n"
        "        [[ -e $file && $name != *-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9] "
        "&& $name == \"$current\"* ]] && COMPREPLY+=(\"$name\")\n"
        "    done\n"
        "    for file in \"$folder\"/manifests/*.json; do\n"
        "        name=${{file##*/}} name=${{name%.json}} name=${{name//'%2F'//}}\n"
        "        [[ -e $file && $name == \"$current\"* ]] && COMPREPLY+=(\"$name\")\n"
        "    done\n"
        "    _etna_files -f -X '!*.[gG][gG][uU][fF]'\n    _etna_files -d\n}}\n",
        shell_models_folder);
}

/// A colon is part of a model's name, but bash may split words at it, as its user sets in COMP_WORDBREAKS. So
/// the words come from the line, with escaped blanks in them, and replies lose the part that bash does not
/// replace. `-o filenames` would escape the colons of names.
constexpr std::string_view bash_entry =
    "_etna() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} current previous before reply\n"
    "    current=${line##*[[:blank:]]} before=${line%\"${line##*[[:blank:]]}\"}\n"
    "    while [[ $before == *\\\\[[:blank:]] ]]; do\n"
    "        line=${before%[[:blank:]]} current=${line##*[[:blank:]]}${before: -1}$current\n"
    "        before=${line%\"${line##*[[:blank:]]}\"}\n"
    "    done\n"
    "    before=${before%\"${before##*[![:blank:]]}\"} previous=${before##*[[:blank:]]}\n"
    "    [[ ${COMP_WORDS[COMP_CWORD]} == [\\\"\\']* ]] && current=${COMP_WORDS[COMP_CWORD]}\n"
    "    COMPREPLY=()\n"
    "    _etna_replies\n"
    "    [[ $COMP_WORDBREAKS == *:* ]] || return\n"
    "    for reply in \"${!COMPREPLY[@]}\"; do\n"
    "        [[ ${COMPREPLY[reply]} == *:* && ! -e ${COMPREPLY[reply]} ]] && compopt +o filenames\n"
    "        [[ $current == *:* ]] && "
    "COMPREPLY[reply]=${COMPREPLY[reply]#\"${current%\"${current##*:}\"}\"}\n"
    "    done\n"
    "}\n"
    "complete -o filenames -F _etna etna\n";

/// Returns the command that completes an option's value.
std::string bash_value(const Option& option) {
    if (option.kind == Kind::choice) {
        return fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$current\"));",
                           fmt::join(option.choices, " "));
    }
    return by_completion(option, {"", "_etna_models;", "_etna_files -f;", "_etna_files -d;"});
}

std::string bash_arguments(const Command& command) {
    if (!takes_models(command)) {
        return fmt::format("            COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))\n",
                           argument_choices(command));
    }
    return "            _etna_models\n";
}

/// Returns the specification action that completes an option's value.
std::string zsh_value(const Option& option) {
    if (option.kind == Kind::choice)
        return fmt::format("({})", fmt::join(option.choices, " "));
    return by_completion(option, {"", "_etna_models", "_files", "_files -/"});
}

std::string zsh_argument(const Positional& positional) {
    std::string values = positional.completion == Completion::models ? "_etna_models" : "";
    if (!positional.choices.empty())
        values = fmt::format("({})", fmt::join(positional.choices, " "));
    const std::string_view place = positional.repeat == Repeat::collect ? "*" : "";
    return shell_quoted(fmt::format("{}:{}:{}", place, positional.name, values));
}

/// Autoloaded from $fpath, the script is the body of the first call of _etna; sourced, it registers _etna.
constexpr std::string_view zsh_start =
    "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
    "    _etna \"$@\"\n"
    "else\n"
    "    if (( ! $+functions[compdef] )); then\n"
    "        autoload -Uz compinit && compinit -i\n" // -i: skips insecure folders without asking
    "    fi\n"
    "    compdef _etna etna\n"
    "fi\n";

/// `complete -C` with an unknown command lists files as fish does, with ~ and variables.
constexpr std::string_view fish_models =
    "function __etna_models\n"
    "    echo demo\n"
    "    set -l data $XDG_DATA_HOME\n"
    "    test -n \"$data\"; or set data ~/.local/share\n"
    "    set -l folder $ETNA_MODELS\n"
    "    test -n \"$folder\"; or set folder $data/etna/models\n"
    "    for file in $folder/*\n"
    "        string match -q -r -i -- '\\.gguf$' $file; "
    "and string replace -r -- '\\.[^.]*$' '' (basename $file)\n"
    "    end | string replace -r -- '-00001-of-[0-9]{5}$' '' "
    "| string match -v -r -- '-[0-9]{5}-of-[0-9]{5}$'\n"
    "    for file in $folder/manifests/*.json\n"
    "        basename $file .json\n"
    "    end | string replace -a -- %2F /\n"
    "    complete -C \"__etna_no_command \"(commandline -ct) | string match -r -i -- '.*(?:\\.gguf|/)$'\n"
    "end\n";

/// Returns the arguments of `complete` for an option's value.
std::string fish_value(const Option& option) {
    if (option.kind == Kind::flag)
        return "";
    if (option.kind == Kind::choice)
        return fmt::format(" -x -a {}", shell_quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    return by_completion(
        option, {" -x", " -x -a '(__etna_models)'", " -r -F", " -x -a '(__fish_complete_directories)'"});
}

} // namespace

std::string bash_completion() {
    std::string script = "# bash completion for etna, generated by `etna completion bash`\n";
    script += bash_models();
    script += "_etna_replies() {\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
    std::vector<std::string_view> command_names;
    for (const Command* command : shown_commands())
        command_names.push_back(command->name);
    script +=
        fmt::format("        COMPREPLY=($(compgen -W \"{} {}\" -- \"$current\"))\n        return\n    fi\n",
                    fmt::join(command_names, " "), words(global_options()));
    script += "    case ${COMP_WORDS[1]} in\n";
    for (const Command* command : shown_commands()) {
        script += fmt::format("    {})\n        case $previous in\n", command->name);
        for (const Option* option : shown_options(command->options)) {
            if (option->kind != Kind::flag)
                script += fmt::format("        {}) {} return ;;\n", names(*option), bash_value(*option));
        }
        script += fmt::format("        esac\n        case $current in\n"
                              "        -*) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")) ;;\n        *)\n",
                              words(command->options));
        script += bash_arguments(*command) + "            ;;\n        esac\n        ;;\n";
    }
    script += "    esac\n}\n";
    script += bash_entry;
    return script;
}

std::string zsh_completion() {
    std::string script = "#compdef etna\n# zsh completion for etna, generated by `etna completion zsh`\n"
                         "_etna_models() {\n    local -a models stored expl\n";
    script += fmt::format(
        "    models=(demo {0}/*.[gG][gG][uU][fF](N:t:r))\n"
        "    models=(${{models/%-00001-of-[0-9][0-9][0-9][0-9][0-9]/}})\n"
        "    models=(${{models:#*-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]}})\n"
        "    stored=({0}/manifests/*.json(N:t:r))\n"
        "    models+=(${{stored//\\%2F//}})\n"
        "    _wanted models expl model compadd -a models\n    _files -g '*.[gG][gG][uU][fF]'\n}}\n",
        shell_models_folder);
    script += "_etna() {\n    if (( CURRENT == 2 )); then\n        local -a commands\n        commands=(\n";
    for (const Command* command : shown_commands()) {
        script += fmt::format("            {}\n",
                              shell_quoted(fmt::format("{}:{}", command->name, zsh_text(command->summary))));
    }
    script += "        )\n        _describe command commands\n";
    script += fmt::format("        compadd -- {}\n        return\n    fi\n", words(global_options()));
    script += "    case $words[2] in\n";
    for (const Command* command : shown_commands()) {
        script +=
            fmt::format("    {})\n        shift words; (( CURRENT-- ))\n        _arguments", command->name);
        for (const Option* option : shown_options(command->options)) {
            const std::string value = option->kind == Kind::flag
                                          ? std::string()
                                          : fmt::format(":{}:{}", option->value, zsh_value(*option));
            const std::string_view repeated = option->repeat == Repeat::collect ? "*" : "";
            const std::string description = zsh_text(option->description);
            for (const std::string& name :
                 {option->short_name == 0 ? std::string() : fmt::format("-{}", option->short_name),
                  fmt::format("--{}", option->name)}) {
                if (!name.empty()) {
                    script += fmt::format(
                        " \\\n            {}",
                        shell_quoted(fmt::format("{}{}[{}]{}", repeated, name, description, value)));
                }
            }
        }
        for (const Positional& positional : command->positionals)
            script += fmt::format(" \\\n            {}", zsh_argument(positional));
        script += "\n        ;;\n";
    }
    script += "    esac\n}\n";
    script += zsh_start;
    return script;
}

std::string fish_completion() {
    std::string script = "# fish completion for etna, generated by `etna completion fish`\n";
    script += fish_models;
    for (const Option* option : shown_options(global_options())) {
        script += fmt::format("complete -c etna -n __fish_use_subcommand -s {} -l {} -d {}\n",
                              option->short_name, option->name, shell_quoted(option->description));
    }
    for (const Command* command : shown_commands()) {
        script += fmt::format("complete -c etna -f -n __fish_use_subcommand -a {} -d {}\n", command->name,
                              shell_quoted(command->summary));
        const std::string condition = fmt::format("'__fish_seen_subcommand_from {}'", command->name);
        script += fmt::format("complete -c etna -n {} -f -a '{}'\n", condition,
                              takes_models(*command) ? "(__etna_models)" : argument_choices(*command));
        for (const Option* option : shown_options(command->options)) {
            script += fmt::format("complete -c etna -n {} -l {}", condition, option->name);
            if (option->short_name != 0)
                script += fmt::format(" -s {}", option->short_name);
            script += fish_value(*option);
            script += fmt::format(" -d {}\n", shell_quoted(option->description));
        }
    }
    return script;
}

namespace {

/// Returns the completion script for `shell`. Errors: invalid_argument.
Result<std::string> completion_script(std::string_view shell) {
    if (shell == "bash")
        return bash_completion();
    if (shell == "zsh")
        return zsh_completion();
    if (shell == "fish")
        return fish_completion();
    return invalid_argument(shell.empty() ? "no shell given"
                                          : fmt::format("there is no completion for {}", backquoted(shell)),
                            "use bash, zsh or fish");
}

/// Returns the page of that name; one that is written by hand is read from standard input. Errors:
/// invalid_argument, io.
Result<std::string> document(std::string_view name, const Environment& environment) {
    if (is_renewed_page(name)) {
        ETNA_TRY(const auto page, read_input(environment.input, FinalNewline::kept));
        return renewed_page(name, page.value_or(""));
    }
    if (name == "etna.1")
        return man_page();
    std::string known = "etna.1";
    for (const Command* command : shown_commands()) {
        const std::string page = fmt::format("etna-{}.1", command->name);
        if (name == page)
            return man_page(*command);
        known += ", " + page;
    }
    return invalid_argument(
        fmt::format("there is no document {}", backquoted(name)),
        fmt::format("use one of {}, README.md, MODELS.md, etna-models.7, etna-api.7", known));
}

Result<ExitCode> print_document(const Result<std::string>& text, const Environment& environment) {
    if (!text)
        return text.error();
    Output output(environment.output);
    if (output.write(*text) != OutputState::failed)
        return ExitCode::done;
    Diagnostics(environment).error(output.error());
    return ExitCode::failed;
}

std::string first_argument(const TypedArguments& arguments) {
    return arguments.positionals.empty() ? std::string() : arguments.positionals[0];
}

Result<ExitCode> run_completion(const Command& /*command*/, const TypedArguments& arguments,
                                const Environment& environment) {
    return print_document(completion_script(first_argument(arguments)), environment);
}

Result<ExitCode> run_generate_docs(const Command& /*command*/, const TypedArguments& arguments,
                                   const Environment& environment) {
    return print_document(document(first_argument(arguments), environment), environment);
}

} // namespace

Command completion_spec() {
    return {.name = "completion",
            .summary = "print a shell's completion script",
            .description = "Prints a script that completes commands, options, their values, model names and "
                           "files in bash, zsh or fish.",
            .positionals = completion_positionals,
            .options = only_help,
            .examples = completion_examples,
            .run = run_completion};
}

Command generate_docs_spec() {
    return {.name = "generate-docs",
            .summary = "print a document that is generated, or has a generated section",
            .description =
                "Prints a man page generated from the option tables; or a page from standard input, "
                "with a new list of architectures.",
            .positionals = document_positionals,
            .options = only_help,
            .examples = {},
            .visibility = Visibility::hidden,
            .run = run_generate_docs};
}

} // namespace etna::cli
