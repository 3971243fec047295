#pragma once

#include "cli/options/table/foreign.hpp"
#include "cli/options/table/generation.hpp"

#include <array>

// The command line of `etna render`.
namespace etna::cli::table {

inline constexpr std::array render_positionals = {
    Positional{.name = "MODEL",
               .description =
                   "as for `etna run`: its template, and its begin and end tokens; may be absent where "
                   "--chat-template is given",
               .presence = Presence::optional,
               .completion = Completion::models},
};

inline constexpr std::array render_options = {
    chat_template_option,
    Option{.name = "bos",
           .value = "TEXT",
           .kind = Kind::text,
           .default_text = "the model's own",
           .description = "what the template writes as the begin token"},
    Option{.name = "eos",
           .value = "TEXT",
           .kind = Kind::text,
           .default_text = "the model's own",
           .description = "what the template writes as the end token"},
    Option{.name = "adapt",
           .description =
               "change what the template would refuse or lose, as `etna run` and `etna chat` do, and "
               "say so on standard error"},
    Option{.name = "json",
           .description =
               "print one JSON object: the text, its token ids (null without MODEL), and with --adapt "
               "what was changed",
           .category = Category::output},
    help_option,
};

inline constexpr std::array render_examples = {
    Example{"etna render demo < request.json", "what the model is really given"},
    Example{"etna render --chat-template chat.jinja --bos \"<s>\" < request.json", "a template in a file"},
    Example{"etna render demo --json < request.json", "with the token ids"},
};

} // namespace etna::cli::table
