#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Python's string operations on UTF-8, counted in code points; the basis of string methods and filters.
namespace etna::jinja {

enum class Side : uint8_t { left = 1, right = 2, both = 3 };

/// Finds `part` at `from` or later; npos if there is none. Time is linear in both sizes in the worst case.
std::size_t find_in(std::string_view text, std::string_view part, std::size_t from = 0);

/// Strips white space, or the characters of `characters` if given.
std::string_view stripped(std::string_view text, std::optional<std::string_view> characters, Side side);

/// str.split(): splits at runs of white space, or at each `separator` (not empty), at most `splits_max`
/// times; negative: no limit. split_from_right() is rsplit().
std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator,
                               int64_t splits_max);
std::vector<std::string> split_from_right(std::string_view text, std::optional<std::string_view> separator,
                                          int64_t splits_max);
enum class LineEnds : uint8_t { dropped, kept };
std::vector<std::string> split_lines(std::string_view text, LineEnds ends);

/// Replaces at most `count` occurrences; negative: all. An empty `from` matches between all characters.
std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t count);
/// Returns the size of that result, to check limits beforehand.
std::size_t replaced_bytes(std::string_view text, std::string_view from, std::string_view to, int64_t count);

/// Jinja's own title filter: words start after white space and -({[<.
std::string titled_words(std::string_view text);

} // namespace etna::jinja
