#pragma once

#include "cli/table/generation.hpp"
#include "cli/table/search.hpp"

#include <array>

// The command line of `etna chat`.
namespace etna::cli::table {

inline constexpr std::array chat_positionals = {
    Positional{.name = "MODEL",
               .description = "as for `etna run`; `demo` where it is absent",
               .presence = Presence::optional,
               .completion = Completion::models},
};

inline constexpr std::array chat_terminal_options = {
    Option{.name = "no-history",
           .description = "keep nothing of what is typed in $XDG_STATE_HOME/etna/history",
           .category = Category::output},
    Option{.name = "verbose",
           .short_name = 'v',
           .description =
               "after each answer, say on standard error how full the context is and how fast it went",
           .category = Category::output},
    help_option,
};

inline constexpr auto chat_options =
    joined(length_options, structure_options, conversation_options, sampling_options, search_options,
           device_options, speculation_options, chat_terminal_options);

inline constexpr std::array chat_examples = {
    Example{"etna chat", "with the tiny model that is built in"},
    Example{"etna chat ./model.gguf --system \"Answer in one sentence.\"", "with a system message"},
    Example{"etna chat ./model.gguf --tools tools.json", "with tools, each run after you agree"},
    Example{"printf 'hi\\nhow are you\\n' | etna chat", "every line is a message"},
};

} // namespace etna::cli::table
