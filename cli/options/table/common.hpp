#pragma once

#include "cli/options/option_table.hpp"

#include <array>

// Options shared by the tables of several commands.
namespace etna::cli::table {

inline constexpr Option help_option = {.name = "help",
                                       .short_name = 'h',
                                       .description = "print this help and exit",
                                       .brief = "print this help and exit",
                                       .category = Category::help};

/// For commands whose options have briefs.
inline constexpr Option help_all_option = {.name = "help-all",
                                           .description = "print every option, its bounds and its default",
                                           .brief = "print every option, its bounds and its default",
                                           .category = Category::help};

inline constexpr Positional model_positional = {
    .name = "MODEL",
    .description =
        "`demo` (a tiny model inside etna, which shows that everything works and is no assistant; a file of "
        "that name is given by its path), a path to a .gguf file, or a name: "
        "$XDG_DATA_HOME/etna/models/NAME.gguf",
    .brief = "demo (built in), a .gguf file, or a stored one's name",
    .completion = Completion::models};

} // namespace etna::cli::table
