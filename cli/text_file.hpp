#pragma once

#include "core/base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace etna::cli {

/// Reads all of a regular file. Blocking. Errors: not_found, io (not a regular file, unreadable),
/// invalid_argument (longer than `bytes_max`).
Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t bytes_max);

/// Writes the file atomically, readable only by the user. Blocking. Errors: io.
Status write_text_file(const std::filesystem::path& path, std::string_view text);

} // namespace etna::cli
