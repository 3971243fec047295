#pragma once

#include "cli/options/table/foreign.hpp"
#include "cli/options/table/generation.hpp"
#include "cli/options/table/search.hpp"
#include "core/generate/generation.hpp"

#include <array>

// The command line of `etna chat`. A conversation continues with one answer and is read by a person, so --n,
// --json and --prompt-logprobs exist only for `etna run`.
namespace etna::cli::table {

inline constexpr std::array chat_positionals = {
    Positional{.name = "MODEL",
               .description = "as for `etna run`; `demo` where it is absent",
               .brief = "demo (built in), a .gguf file, or a stored one's name",
               .presence = Presence::optional,
               .completion = Completion::models},
};

inline constexpr std::array chat_length_options = {max_tokens_option(1, "stop after N tokens")};

inline constexpr std::array chat_terminal_options = {
    Option{.name = "logprobs",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, generate::logprobs_max},
           .description =
               "after each answer, tell on standard error each token's log-probability and those of "
               "the N likeliest tokens, before any penalty or filter",
           .category = Category::output},
    Option{.name = "no-history",
           .description = "keep nothing of what is typed in $XDG_STATE_HOME/etna/history",
           .brief = "keep nothing of what is typed",
           .category = Category::output},
    Option{.name = "no-wrap",
           .description =
               "leave it to the terminal where lines break; otherwise they break between words, but for "
               "those of code between three backquotes",
           .brief = "leave it to the terminal where lines break",
           .category = Category::output},
    Option{.name = "verbose",
           .short_name = 'v',
           .description =
               "after each answer, say on standard error how full the context is and how fast it went",
           .brief = "after each answer, say how full the context is",
           .category = Category::output},
    help_option,
    help_all_option,
};

inline constexpr auto chat_options =
    joined(chat_length_options, length_options, structure_options, prediction_options, conversation_options,
           sampling_options, search_options, device_options, speculation_options, chat_terminal_options);

inline constexpr auto chat_foreign =
    joined(foreign_model, foreign_device, foreign_answer, foreign_terminal, foreign_chat);

inline constexpr std::array chat_examples = {
    Example{"etna chat", "with the tiny model that is built in"},
    Example{"etna chat ./model.gguf --system \"Answer in one sentence.\"", "with a system message"},
    Example{"etna chat ./model.gguf --tools tools.json", "with tools, each run after you agree"},
    Example{"printf 'hi\\nhow are you\\n' | etna chat", "every line is a message"},
};

} // namespace etna::cli::table
