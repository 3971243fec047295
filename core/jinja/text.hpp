#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Python's string operations on UTF-8, counted in code points: decoding, case, stripping, splitting,
/// replacing.
namespace etna::jinja {

/// Size and code point of one character; an invalid byte is a single U+FFFD. Precondition: `position` is less
/// than the size.
struct Decoded {
    char32_t code_point;
    std::size_t bytes;
};
Decoded decode_at(std::string_view text, std::size_t position);
std::u32string decode(std::string_view text);
std::string encode(std::u32string_view text);
void append_utf8(std::string& text, char32_t code_point); ///< surrogates become U+FFFD
std::size_t count_code_points(std::string_view text);

bool is_space(char32_t code_point); ///< str.isspace()
bool is_printable(char32_t code_point);
bool is_name_start(char32_t code_point); ///< of an identifier
bool is_name_part(char32_t code_point);

/// Python's str.upper(), lower() (with the final sigma) and capitalize(), with the mappings of libutf8proc,
/// which map one code point to one, and those for ß and the Latin ligatures.
std::string upper_case(std::string_view text);
std::string lower_case(std::string_view text);
std::string capital_case(std::string_view text);
/// Capitalizes each word: is_no_letter() separates the words of str.title(), is_word_break() those of Jinja's
/// filter.
std::string title_case(std::string_view text, bool (*separates)(char32_t));
bool is_no_letter(char32_t code_point);
bool is_word_break(char32_t code_point); ///< white space and -({[<

enum class Side : uint8_t { left = 1, right = 2, both = 3 };

/// Finds `part` at `from` or later; npos if there is none. Time is linear in both sizes in the worst case.
std::size_t find_in(std::string_view text, std::string_view part, std::size_t from = 0);

/// Strips white space, or the characters of `characters` if given.
std::string_view stripped(std::string_view text, std::optional<std::string_view> characters, Side side);

/// str.split(): splits at runs of white space, or at each `separator` (not empty), at most `splits_max`
/// times; negative: no limit.
std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator,
                               int64_t splits_max);
std::vector<std::string> split_lines(std::string_view text); ///< without the line ends

/// Replaces at most `count` occurrences; negative: all. An empty `from` matches between all characters.
std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t count);
/// Returns the size of that result, to check limits beforehand.
std::size_t replaced_bytes(std::string_view text, std::string_view from, std::string_view to, int64_t count);

} // namespace etna::jinja
