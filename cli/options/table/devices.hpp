#pragma once

#include "cli/options/table/common.hpp"

#include <array>

// The command line of `etna devices`.
namespace etna::cli::table {

inline constexpr std::array devices_options = {
    Option{.name = "device",
           .value = "DEVICE",
           .kind = Kind::text,
           .default_text = "the best GPU, else the CPU",
           .description = "say whether this one would be chosen: its number, its UUID or a part of its name",
           .category = Category::device},
    Option{.name = "json", .description = "print one JSON object", .category = Category::output},
    Option{.name = "verbose",
           .short_name = 'v',
           .description = "also list the kernel that each operation and format gets",
           .category = Category::output},
    help_option,
};

inline constexpr std::array devices_examples = {
    Example{"etna devices", "every device, and which one etna takes"},
    Example{"etna devices --json", "the same for programs"},
};

} // namespace etna::cli::table
