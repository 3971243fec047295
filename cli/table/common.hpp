#pragma once

#include "cli/option_table.hpp"

#include <array>

// What several commands' tables share.
namespace etna::cli::table {

inline constexpr Option help_option = {
    .name = "help", .short_name = 'h', .description = "print this help and exit", .category = Category::help};

inline constexpr Positional model_positional = {
    .name = "MODEL",
    .description =
        "`demo` (a tiny model inside etna, which shows that everything works and is no assistant; a file of "
        "that name is given by its path), a path to a .gguf file, or a name: "
        "$XDG_DATA_HOME/etna/models/NAME.gguf",
    .completion = Completion::models};

} // namespace etna::cli::table
