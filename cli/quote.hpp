#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace etna::cli {

/// `text`, or as much of it as ends before a UTF-8 character and has at most `bytes_max` bytes, and "...".
std::string cut(std::string_view text, std::size_t bytes_max);

/// `text` as one word of a POSIX shell, in single quotes.
std::string shell_quoted(std::string_view text);

/// `text` in backquotes for a message, cut at 100 bytes: what users and files name may be of any length.
std::string backquoted(std::string_view text);

} // namespace etna::cli
