#pragma once

#include "cli/options/table/foreign.hpp"

#include <array>

// The command line of `etna tokenize`.
namespace etna::cli::table {

inline constexpr std::array tokenize_positionals = {
    model_positional,
    Positional{.name = "TEXT",
               .description = "the text, or ids with --decode; standard input when it is absent",
               .presence = Presence::optional},
};

inline constexpr std::array tokenize_options = {
    Option{.name = "no-special",
           .description =
               "no special tokens: none is put around the text, and their names in it, such as </s>, "
               "stay text; with --decode, they give no text",
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

inline constexpr auto tokenize_foreign =
    joined(foreign_model, std::array{ForeignOption{.names = "-p, --prompt", .ours = "TEXT"}});

inline constexpr std::array tokenize_examples = {
    Example{"etna tokenize demo \"Hello there\"", "the ids as JSON"},
    Example{"etna tokenize demo --pieces < notes.txt", "each token of a file and its text"},
    Example{"etna tokenize demo \"Hello\" | etna tokenize demo --decode", "there and back"},
};

} // namespace etna::cli::table
