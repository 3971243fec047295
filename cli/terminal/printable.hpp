#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

// Names, paths, commands and output of models and tools may contain anything: control characters, C1
// included, and bidirectional formatting characters could change the user's terminal or the apparent text.

/// Returns all of `text` on one line: such characters, newlines, tabs and bytes that are not UTF-8 are
/// escaped as \x1b, \x0a, \u202e.
std::string printable(std::string_view text);

/// Returns `text` with each of them replaced by U+FFFD; newlines and tabs are unchanged.
std::string terminal_safe(std::string_view text);

/// Returns `text`, or if it is too long its first at most `bytes_max` bytes, cut at a UTF-8 character
/// boundary, and "...".
std::string cut(std::string_view text, std::size_t bytes_max);

/// Returns `text` as one word of a POSIX shell, in single quotes.
std::string shell_quoted(std::string_view text);

/// Returns `text` in backquotes for a message, cut at 100 bytes, because names from users and files may have
/// any length.
std::string backquoted(std::string_view text);

/// Returns "12.0 MiB", with KiB below 1 MiB and GiB from 1 GiB on.
std::string size_text(uint64_t bytes);

/// Returns lines of columns that are as wide as their longest cell, with two spaces between them. Numbers of
/// `right_aligned` columns end together.
std::string table_text(const std::vector<std::vector<std::string>>& rows,
                       std::initializer_list<std::size_t> right_aligned = {});

} // namespace etna::cli
