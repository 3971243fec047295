#include "cli/option_table.hpp"

#include "core/generate/generate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr double int32_max = std::numeric_limits<int32_t>::max();
constexpr double uint32_max = std::numeric_limits<uint32_t>::max();
constexpr double temperature_max = 100;
constexpr double sigmas_max = 1000;
constexpr double penalty_max = 100;            ///< as sampling::check() has it
constexpr double context_tokens_max = 1 << 26; ///< as for models: model::context_max
constexpr double size_min_bytes = 1 << 16;
constexpr double size_max_bytes = 1ULL << 50;

constexpr std::array<std::string_view, 3> shells = {"bash", "zsh", "fish"};
constexpr std::array<std::string_view, 2> kv_types = {"f16", "f32"};
constexpr std::array<std::string_view, 4> vendors = {"nvidia", "amd", "intel", "lavapipe"};

constexpr Option help_option = {
    .name = "help", .short_name = 'h', .description = "print this help and exit", .category = Category::help};

constexpr std::array global = {
    help_option,
    Option{.name = "version",
           .short_name = 'V',
           .description = "print the version and exit",
           .category = Category::help},
};

constexpr Positional model_positional = {
    .name = "MODEL",
    .description =
        "`demo` (a tiny story teller that is built in; a file of that name is given by its path), a path "
        "to a .gguf file, or a name: "
        "$XDG_DATA_HOME/etna/models/NAME.gguf",
    .completion = Completion::models};

constexpr std::array run_positionals = {
    model_positional,
    Positional{.name = "PROMPT",
               .description =
                   "the prompt; text that comes through a pipe or from a file on standard input is used "
                   "too, after a blank line when both are given",
               .presence = Presence::optional},
};

constexpr std::array run_options = {
    Option{.name = "max-tokens",
           .short_name = 'n',
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .default_text = "until the model ends or the context is full",
           .description = "stop after N tokens"},
    Option{.name = "stop",
           .value = "TEXT",
           .kind = Kind::text,
           .description = "stop before TEXT would be written; may be given several times",
           .repeat = Repeat::collect},
    Option{.name = "system",
           .value = "TEXT",
           .kind = Kind::text,
           .description = "put TEXT before the prompt as the system's message, through the model's chat "
                          "template"},
    Option{.name = "raw",
           .description = "give the prompt to the model as it is, without the model's chat template"},
    Option{.name = "temp",
           .value = "T",
           .kind = Kind::number,
           .range = {0, temperature_max},
           .default_text = "the model's own, else 0.8",
           .description = "temperature: 0 always takes the likeliest token, higher is more varied",
           .category = Category::sampling},
    Option{.name = "top-k",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, int32_max},
           .default_text = "the model's own, else 40",
           .description = "draw from the N likeliest tokens only; 0 draws from all",
           .category = Category::sampling},
    Option{.name = "top-p",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1, LowerBound::exclusive},
           .default_text = "the model's own, else 0.95",
           .description = "draw from the likeliest tokens that together have probability P; 1 draws from all",
           .category = Category::sampling},
    Option{.name = "min-p",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1},
           .default_text = "the model's own, else 0.05",
           .description = "leave out tokens less likely than P times the likeliest",
           .category = Category::sampling},
    Option{.name = "typical-p",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1, LowerBound::exclusive},
           .default_text = "1",
           .description = "draw from the tokens of the most expected surprise that together have probability "
                          "P (locally typical sampling); 1 draws from all",
           .category = Category::sampling},
    Option{.name = "top-n-sigma",
           .value = "N",
           .kind = Kind::number,
           .range = {0, sigmas_max},
           .default_text = "0",
           .description = "draw from tokens whose logits are within N standard deviations of the largest; 0 "
                          "draws from all",
           .category = Category::sampling},
    Option{.name = "xtc-probability",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1},
           .default_text = "the model's own, else 0",
           .description = "how often the top choices are left out, all but the least likely of them (XTC); 0 "
                          "never",
           .category = Category::sampling},
    Option{.name = "xtc-threshold",
           .value = "P",
           .kind = Kind::number,
           .range = {0, 1},
           .default_text = "the model's own, else 0.1",
           .description = "probability from which on a token is a top choice; above 0.5 XTC does nothing",
           .category = Category::sampling},
    Option{.name = "min-keep",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, int32_max},
           .default_text = "0",
           .description = "no rule above leaves fewer than N tokens to draw from",
           .category = Category::sampling},
    Option{.name = "repeat-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {0, penalty_max, LowerBound::exclusive},
           .default_text = "the model's own, else 1",
           .description = "make tokens of the prompt and the answer less likely: positive logits are divided "
                          "by X, others multiplied; 1 does nothing",
           .category = Category::sampling},
    Option{.name = "repeat-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "the model's own, else 64",
           .description = "last tokens that --repeat-penalty looks at; -1 all",
           .category = Category::sampling},
    Option{.name = "presence-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {-penalty_max, penalty_max},
           .default_text = "0",
           .description = "taken from the logits of tokens that the answer has",
           .category = Category::sampling},
    Option{.name = "presence-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "-1",
           .description = "last tokens of the answer that --presence-penalty looks at; -1 all",
           .category = Category::sampling},
    Option{.name = "frequency-penalty",
           .value = "X",
           .kind = Kind::number,
           .range = {-penalty_max, penalty_max},
           .default_text = "0",
           .description = "taken from a token's logit for each time that the answer has it",
           .category = Category::sampling},
    Option{.name = "frequency-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "-1",
           .description = "last tokens of the answer that --frequency-penalty looks at; -1 all",
           .category = Category::sampling},
    Option{.name = "dry-multiplier",
           .value = "X",
           .kind = Kind::number,
           .range = {0, penalty_max},
           .default_text = "0",
           .description = "make tokens less likely that would continue a repetition of the prompt or the "
                          "answer (DRY): X times --dry-base to the power of its surplus length is taken from "
                          "the logit; 0 does nothing",
           .category = Category::sampling},
    Option{.name = "dry-base",
           .value = "X",
           .kind = Kind::number,
           .range = {1, penalty_max},
           .default_text = "1.75",
           .description = "growth of DRY's penalty with each token of the repetition",
           .category = Category::sampling},
    Option{.name = "dry-allowed-length",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .default_text = "2",
           .description = "repetitions of fewer than N tokens are free, and from N on DRY's penalty grows",
           .category = Category::sampling},
    Option{.name = "dry-penalty-last-n",
           .value = "N",
           .kind = Kind::integer,
           .range = {-1, int32_max},
           .default_text = "-1",
           .description = "last tokens in which DRY looks for repetitions; -1 all",
           .category = Category::sampling},
    Option{.name = "dry-sequence-breaker",
           .value = "TEXT",
           .kind = Kind::text,
           .default_text = "line ends, :, \" and *",
           .description = "text over which DRY sees no repetition; may be given several times, `none` for no "
                          "such text",
           .category = Category::sampling,
           .repeat = Repeat::collect},
    Option{.name = "logit-bias",
           .value = "ID=BIAS",
           .kind = Kind::text,
           .description =
               "add BIAS to the logit of the token ID, as `etna tokenize` prints it; -inf bans the "
               "token; may be given several times",
           .category = Category::sampling,
           .repeat = Repeat::collect},
    Option{.name = "seed",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, uint32_max},
           .default_text = "random",
           .description = "random state: the same seed and request give the same text",
           .category = Category::sampling},
    Option{.name = "device",
           .value = "DEVICE",
           .kind = Kind::text,
           .default_text = "the best GPU, else the CPU",
           .description = "Vulkan device: its number, its UUID or a part of its name",
           .category = Category::device},
    Option{.name = "ctx-size",
           .short_name = 'c',
           .value = "N",
           .kind = Kind::integer,
           .range = {1, context_tokens_max},
           .default_text = "the model's own, as far as memory allows",
           .description = "tokens that prompt and answer may have together",
           .category = Category::device},
    Option{.name = "kv-type",
           .value = "TYPE",
           .kind = Kind::choice,
           .choices = kv_types,
           .default_text = "f16",
           .description = "number format of the key-value cache",
           .category = Category::device},
    Option{.name = "kv-memory",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {size_min_bytes, size_max_bytes},
           .default_text = "what the context needs",
           .description = "memory for the key-value cache in bytes, or with K, M, G or T (powers of 1024)",
           .category = Category::device},
    Option{.name = "plan-as",
           .value = "VENDOR",
           .kind = Kind::choice,
           .choices = vendors,
           .description = "choose kernels as for a device of VENDOR",
           .category = Category::device,
           .visibility = Visibility::hidden},
    Option{.name = "json",
           .description = "write one JSON object at the end instead of text",
           .category = Category::output},
    Option{.name = "logprobs",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, generate::logprobs_max},
           .description = "tell each token's log-probability and those of the N likeliest tokens, before any "
                          "penalty or filter: in the JSON object in the shape of OpenAI's API, else as lines "
                          "on standard error behind the text",
           .category = Category::output},
    Option{.name = "verbose",
           .short_name = 'v',
           .description = "say on standard error which device is used and how long everything took",
           .category = Category::output},
    help_option,
};

constexpr std::array run_examples = {
    Example{"etna run demo \"Once upon a time\"", "a story from the model that is built in"},
    Example{"etna run ./model.gguf \"Write a haiku about rain\"", "ask a model in a file"},
    Example{"cat notes.txt | etna run ./model.gguf \"Summarise these notes:\"", "argument, blank line, file"},
    Example{"etna run ./model.gguf \"Why?\" --system \"Answer in one sentence.\"", "with a system message"},
    Example{"etna run demo --raw -n 32 --temp 0 < prompt.txt",
            "the likeliest continuation, the same every time"},
};

constexpr std::array tokenize_positionals = {
    model_positional,
    Positional{.name = "TEXT",
               .description = "the text, or ids with --decode; standard input when it is absent",
               .presence = Presence::optional},
};

constexpr std::array tokenize_options = {
    Option{.name = "no-special",
           .description = "the names of special tokens in the text, such as </s>, stay text; with --decode, "
                          "special tokens give no text",
           .category = Category::output},
    Option{.name = "pieces",
           .description = "print an object for each token: its id, the piece of text that it stands for, and "
                          "the piece's bytes where they are not whole UTF-8",
           .category = Category::output},
    Option{.name = "decode",
           .description = "read ids, as JSON or as bare numbers, and print their text",
           .category = Category::output},
    help_option,
};

constexpr std::array tokenize_examples = {
    Example{"etna tokenize demo \"Once upon a time\"", "the ids as JSON"},
    Example{"etna tokenize demo --pieces < notes.txt", "each token of a file and its text"},
    Example{"etna tokenize demo \"Once\" | etna tokenize demo --decode", "there and back"},
};

constexpr std::array docs_positionals = {
    Positional{.name = "DOCUMENT", .description = "etna.1 or etna-COMMAND.1"},
};
constexpr std::array completion_positionals = {
    Positional{.name = "SHELL", .description = "bash, zsh or fish", .choices = shells},
};
constexpr std::array completion_examples = {
    Example{"source <(etna completion bash)", "for this shell; in ~/.bashrc for every later one"},
    Example{"etna completion zsh > ~/.zfunc/_etna", "where ~/.zfunc is a folder of $fpath"},
    Example{"etna completion fish > ~/.config/fish/completions/etna.fish", "for every later shell"},
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
    ExitCodeText{1, "failed: the model, the device or the output"},
    ExitCodeText{2, "usage: the command line, the environment or the configuration file is wrong"},
    ExitCodeText{130, "interrupted with Ctrl-C"},
};

} // namespace

std::string_view title(Category category) {
    switch (category) {
    case Category::generation:
        return "Generation";
    case Category::sampling:
        return "Sampling";
    case Category::device:
        return "Device and memory";
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
    if (kind == Kind::size) {
        return fmt::format("{}K to {}T", static_cast<uint64_t>(range.min) >> 10,
                           static_cast<uint64_t>(range.max) >> 40);
    }
    if (range.lower == LowerBound::exclusive)
        return fmt::format("more than {}, up to {}", range.min, range.max);
    return fmt::format("{:.0f} to {:.0f}", range.min, range.max);
}

} // namespace etna::cli
