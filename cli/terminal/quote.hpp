#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace etna::cli {

/// Returns `text`, or if it is too long its first at most `bytes_max` bytes, cut at a UTF-8 character
/// boundary, and "...".
std::string cut(std::string_view text, std::size_t bytes_max);

/// Returns `text` as one word of a POSIX shell, in single quotes.
std::string shell_quoted(std::string_view text);

/// Returns `text` in backquotes for a message, cut at 100 bytes, because names from users and files may have
/// any length.
std::string backquoted(std::string_view text);

} // namespace etna::cli
