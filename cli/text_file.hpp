#pragma once

#include "core/base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace etna::cli {

/// All of a regular file. Blocking. Errors: not_found, io (no regular file, unreadable), invalid_argument
/// (longer than `bytes_max`).
Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t bytes_max);

/// Writes it whole or not at all, readable by the user alone. Blocking. Error: io.
Status write_text_file(const std::filesystem::path& path, std::string_view text);

} // namespace etna::cli
