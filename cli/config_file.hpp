#pragma once

#include "cli/command_line.hpp"

#include <filesystem>

namespace etna::cli {

/// Adds the configuration file's values for the options that are absent: keys are long names, at the top or
/// under [COMMAND], which comes first. A missing file and an empty path are none. Errors: io (not a regular
/// file, longer than 1 MiB, unreadable), invalid_argument (not TOML, a key that is not an option, a value of
/// another kind), with the line.
Status add_config_file(const Command& command, const std::filesystem::path& path, TypedArguments& arguments);

} // namespace etna::cli
