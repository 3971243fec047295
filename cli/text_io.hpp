#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// Maximum input: more than a user types or a model reads.
constexpr std::size_t input_bytes_max = 64 * mebibyte;

enum class FinalNewline {
    dropped, ///< one newline at the end is not part of the input
    kept,
};

/// Reads standard input: everything if it is a pipe, a socket or a file; empty if it is a terminal, another
/// device (/dev/null) or closed. Blocks until the end of the input. Errors: io, invalid_argument (longer than
/// 64 MiB).
Result<std::optional<std::string>> read_input(int descriptor, FinalNewline newline);

/// Returns the lines without their newlines.
std::vector<std::string> split_lines(std::string_view text);

/// Removes one newline, "\n" or "\r\n", from the end.
void drop_newline(std::string& text);

/// Reads all of a regular file. Blocking. Errors: not_found, io (not a regular file, unreadable),
/// invalid_argument (longer than `bytes_max`).
Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t bytes_max);

/// Writes the file atomically, readable only by the user. Blocking. Errors: io.
Status write_text_file(const std::filesystem::path& path, std::string_view text);

} // namespace etna::cli
