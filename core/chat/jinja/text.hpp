#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Python's work on strings, on UTF-8 and counted in code points; the string methods and filters stand on it.
namespace etna::chat::jinja {

enum class Side : uint8_t { left = 1, right = 2, both = 3 };

/// Where `part` begins at `from` or later, or npos; in time linear in both, whatever they are.
std::size_t find_in(std::string_view text, std::string_view part, std::size_t from = 0);

/// Strips white space, or the characters of `characters` where it is given.
std::string_view stripped(std::string_view text, std::optional<std::string_view> characters, Side side);

/// str.split(): at runs of white space, or at each `separator` (not empty); at most `splits_max` times, any
/// number where it is negative. `from_right` is rsplit().
std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator,
                               int64_t splits_max);
std::vector<std::string> split_from_right(std::string_view text, std::optional<std::string_view> separator,
                                          int64_t splits_max);
enum class LineEnds : uint8_t { dropped, kept };
std::vector<std::string> split_lines(std::string_view text, LineEnds ends);

/// At most `count` occurrences, all where it is negative. An empty `from` stands between all characters.
std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t count);
/// How long that becomes, so that it can be bounded beforehand.
std::size_t replaced_bytes(std::string_view text, std::string_view from, std::string_view to, int64_t count);

/// Jinja's own title filter: words begin after white space and -({[<.
std::string titled_words(std::string_view text);

} // namespace etna::chat::jinja
