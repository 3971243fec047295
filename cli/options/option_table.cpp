#include "cli/options/option_table.hpp"

#include "cli/options/table/chat.hpp"
#include "cli/options/table/common.hpp"
#include "cli/options/table/devices.hpp"
#include "cli/options/table/render.hpp"
#include "cli/options/table/run.hpp"
#include "cli/options/table/serve.hpp"
#include "cli/options/table/tokenize.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace etna::cli {
namespace {

using namespace table;

constexpr std::array<std::string_view, 3> shells = {"bash", "zsh", "fish"};

constexpr std::array global = {
    help_option,
    Option{.name = "version",
           .short_name = 'V',
           .description = "print the version and exit",
           .category = Category::help},
};

constexpr std::array docs_positionals = {
    Positional{.name = "DOCUMENT", .description = "etna.1 or etna-COMMAND.1"},
};
constexpr std::array completion_positionals = {
    Positional{.name = "SHELL", .description = "bash, zsh or fish", .choices = shells},
};
constexpr std::array completion_examples = {
    Example{"source <(etna completion bash)", "for this shell; in ~/.bashrc for every later one"},
    Example{"source <(etna completion zsh)", "the same in zsh; in ~/.zshrc, after compinit"},
    Example{"etna completion zsh > ~/.zfunc/_etna", "where ~/.zfunc is a folder of $fpath"},
    Example{"etna completion fish | source", "for this fish shell"},
    Example{"etna completion fish > ~/.config/fish/completions/etna.fish", "for every later fish shell"},
};
constexpr std::array only_help = {help_option};

constexpr std::array all_commands = {
    Command{
        .name = "run",
        .summary = "let a model write text after a prompt",
        .description = "Runs a model on one prompt and writes its text to standard output as it is made; "
                       "everything else goes "
                       "to standard error. The text is written as the model makes it; when it does not end "
                       "in a newline, one is "
                       "added at the end, on a terminal and in a pipe alike, so that the output is whole "
                       "lines. --json carries "
                       "the text without the addition.\n\n"
                       "If the model carries a chat template and --raw is absent, the prompt is sent as a "
                       "user's message; "
                       "otherwise the model continues the prompt. One newline at the end of standard input "
                       "is not part of the "
                       "prompt.\n\n"
                       "Ctrl-C ends the generation and keeps what was written; a second one ends the program "
                       "at once. When the "
                       "reader of a pipe goes away, the generation ends quietly.",
        .positionals = run_positionals,
        .options = run_options,
        .examples = run_examples,
        .foreign = run_foreign,
    },
    Command{
        .name = "chat",
        .summary = "hold a conversation with a model",
        .description =
            "Reads a message, writes the model's answer, and goes on until the end of the input. At a "
            "terminal, lines can be edited and found again, Tab completes commands, and a paste stays "
            "one message. Through a pipe every line is a message and standard output has the answers "
            "alone.\n\n"
            "A message of several lines begins and ends with three double quotes. A line that begins "
            "with a slash is a command of the chat: /help lists them. Ctrl-C stops an answer or a tool "
            "and keeps the chat, Ctrl-D leaves. Through a pipe a turn or a command that fails is told, the "
            "next line is read, and the exit code is 1 in the end. SIGTERM and SIGHUP stop an answer and end "
            "the chat.\n\n"
            "What the model has read stays in its cache, so that each turn computes only what is new. "
            "When the context is full, the oldest turns are forgotten first; the system message "
            "stays.\n\n"
            "A conversation goes on with one answer. Several of them (--n), JSON and a prompt's scores are "
            "`etna run`'s, which takes a chat that was saved with --messages.\n\n"
            "A tool of --tools that has a `command` is run by /bin/sh when the model calls it and you "
            "agree: the arguments come as JSON on standard input and as $arg_NAME, and what it writes "
            "to standard output goes back to the model; where it fails, its exit code and its standard "
            "error too. What the context has no room for is cut off, and both are told. Ctrl-C or "
            "--tool-timeout ends the command and its children with SIGTERM, and with SIGKILL a second "
            "later.\n\n"
            "Commands come only from files named by --tools or /tools, never from a conversation. A chat "
            "that was saved names its file of tools: /load shows what that brings, and of what was "
            "agreed to before only --yes goes on, for files named to this chat. `always` is said of one "
            "command of one tool, until other tools come.",
        .positionals = chat_positionals,
        .options = chat_options,
        .examples = chat_examples,
        .foreign = chat_foreign,
    },
    Command{
        .name = "serve",
        .summary = "answer programs over HTTP as OpenAI's API does",
        .description =
            "Serves models over HTTP: /v1/chat/completions with streams, tools and reasoning, "
            "/v1/completions, /v1/models, /metrics for Prometheus, /health; --routes lists them all. "
            "Programs written for OpenAI's API change "
            "their base URL and nothing else. Where it listens is printed to standard output as one "
            "line; a line for each request goes to standard error.\n\n"
            "A model is loaded when it is first asked for, under the name of its file. Only this machine "
            "is served unless --host says otherwise. SIGTERM or Ctrl-C ends it: new requests are refused, "
            "those at work are finished within --drain-timeout.",
        .positionals = serve_positionals,
        .options = serve_options,
        .examples = serve_examples,
        .foreign = serve_foreign,
    },
    Command{
        .name = "devices",
        .summary = "list the devices that models can run on",
        .description =
            "Prints each Vulkan device with its driver, memory and features, what is missing for full "
            "speed and what to install, and which device is chosen and why. It helps where no loader, "
            "no driver or no device is found, too: then the exit code is 1.",
        .positionals = {},
        .options = devices_options,
        .examples = devices_examples,
    },
    Command{
        .name = "completion",
        .summary = "print a shell's completion script",
        .description = "Prints a script that completes commands, options, their values, names of models and "
                       "files in bash, zsh or fish.",
        .positionals = completion_positionals,
        .options = only_help,
        .examples = completion_examples,
    },
    Command{
        .name = "tokenize",
        .summary = "turn text into a model's token ids, or back",
        .description =
            "Prints the token ids of a text as one JSON array, begin and end tokens included where "
            "the model asks for them. Standard input is taken as it is, with every newline. Only "
            "the description in the model's file is read: no device is needed, and files that "
            "hold a vocabulary alone will do.\n\n"
            "--decode is the way back: the begin and end tokens that the model adds give no text, "
            "other special tokens give their names, bytes that are not UTF-8 become U+FFFD. "
            "Nothing is added to the text, except for a newline at its end on a terminal.",
        .positionals = tokenize_positionals,
        .options = tokenize_options,
        .examples = tokenize_examples,
        .foreign = tokenize_foreign,
    },
    Command{
        .name = "render",
        .summary = "print the prompt that a chat request becomes",
        .description =
            "Reads a chat request as in OpenAI's API from standard input, an object with `messages` and, "
            "where they are wanted, `tools`, `documents`, `add_generation_prompt` and "
            "`chat_template_kwargs`, and prints what the chat template makes of it, to the byte. Only "
            "the description in the model's file is read: no device is needed.\n\n"
            "A template that refuses the request says why, in its own words or with the line and "
            "column where it failed, and the exit code is 1. SOURCE_DATE_EPOCH sets the time for "
            "templates that write it, in UTC.",
        .positionals = render_positionals,
        .options = render_options,
        .examples = render_examples,
        .foreign = foreign_model,
    },
    Command{
        .name = "generate-docs",
        .summary = "print a man page",
        .description = "Prints a document that is made from the table of options.",
        .positionals = docs_positionals,
        .options = only_help,
        .examples = {},
        .visibility = Visibility::hidden,
    },
};

constexpr std::array codes = {
    ExitCodeText{0, "done, also when the reader of a pipe went away"},
    ExitCodeText{
        1, "failed: the model, the device or the output, or a turn or a command of a chat through a pipe"},
    ExitCodeText{2, "usage: the command line, the environment or the configuration file is wrong"},
    ExitCodeText{129, "an answer or a chat was ended by SIGHUP"},
    ExitCodeText{130, "interrupted with Ctrl-C"},
    ExitCodeText{143, "an answer or a chat was ended by SIGTERM"},
};

/// Formats a bound in the largest unit that divides it.
std::string size_text(double bytes) {
    constexpr uint64_t step = 1024;
    auto count = static_cast<uint64_t>(bytes);
    std::string unit;
    for (const char next : {'K', 'M', 'G', 'T'}) {
        if (count == 0 || count % step != 0)
            break;
        count /= step;
        unit = next;
    }
    return fmt::format("{}{}", count, unit);
}

} // namespace

std::string_view title(Category category) {
    switch (category) {
    case Category::generation:
        return "Generation";
    case Category::sampling:
        return "Sampling";
    case Category::device:
        return "Device and memory";
    case Category::server:
        return "Server";
    case Category::output:
        return "Output";
    case Category::help:
        return "Help";
    }
    return "";
}

std::span<const Command> commands() {
    return all_commands;
}

std::span<const Option> global_options() {
    return global;
}

std::span<const ExitCodeText> exit_codes() {
    return codes;
}

const Command* find_command(std::string_view name) {
    for (const Command& command : all_commands) {
        if (command.name == name)
            return &command;
    }
    return nullptr;
}

const Option* find_option(const Command& command, std::string_view name) {
    for (const Option& option : command.options) {
        if (option.name == name)
            return &option;
    }
    return nullptr;
}

std::string environment_name(const Option& option) {
    std::string name = "ETNA_";
    for (const char c : option.name)
        name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return name;
}

bool has_environment_name(const Option& option) {
    return option.category != Category::help;
}

bool has_settings(const Command& command) {
    return std::any_of(command.options.begin(), command.options.end(), has_environment_name);
}

std::string describe(const Range& range, Kind kind) {
    if (kind != Kind::integer && kind != Kind::number && kind != Kind::size)
        return {};
    if (kind == Kind::size)
        return fmt::format("{} to {}", size_text(range.min), size_text(range.max));
    if (range.lower == LowerBound::exclusive)
        return fmt::format("more than {}, up to {}", range.min, range.max);
    if (kind == Kind::integer && range.max == int64_range.max)
        return "64 bits with a sign"; // instead of 19-digit bounds
    return fmt::format("{:.0f} to {:.0f}", range.min, range.max);
}

} // namespace etna::cli
