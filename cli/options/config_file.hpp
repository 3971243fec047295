#pragma once

#include "cli/options/command_line.hpp"
#include "core/base/bytes.hpp"

#include <filesystem>

namespace etna::cli {

/// Maximum file size; also bounds how deep dotted keys can nest.
constexpr std::size_t config_bytes_max = 16 * kibibyte;

/// Adds the values of a configuration file's text for the options that are absent: keys are long option
/// names, at the top level or under [COMMAND], which takes precedence. `path` is for messages. Error:
/// invalid_argument (not TOML, a key that is not an option, a value of another kind), with the line.
/// Precondition: at most config_bytes_max.
Status add_config(const Command& command, std::string_view text, const std::filesystem::path& path,
                  TypedArguments& arguments);

/// As add_config(), from a file. A missing file or an empty path adds nothing. Further errors: io (not a
/// regular file, longer than config_bytes_max, unreadable).
Status add_config_file(const Command& command, const std::filesystem::path& path, TypedArguments& arguments);

} // namespace etna::cli
