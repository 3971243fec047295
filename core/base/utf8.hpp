#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace etna {

enum class Utf8Kind {
    valid,     ///< one complete character
    invalid,   ///< bytes that no continuation can make valid
    truncated, ///< an incomplete character at the end of the text
};

/// The first character of a text, or the invalid sequence that it starts with.
struct Utf8Step {
    Utf8Kind kind = Utf8Kind::invalid;
    std::size_t bytes = 1; ///< bytes to advance, 1 to 4
};

/// Decodes the start of `text` (not empty). An invalid sequence is the "maximal subpart" that the Unicode
/// Standard 15, section 3.9 (U+FFFD substitution) and the WHATWG Encoding Standard replace by one U+FFFD.
/// Overlong forms, surrogates and everything above U+10FFFF are invalid.
Utf8Step next_utf8(std::string_view text);

/// Length in bytes of the longest prefix of `text` that is valid UTF-8.
std::size_t valid_utf8_prefix(std::string_view text);

/// Counts the characters that start in this UTF-8 text.
std::size_t characters_in(std::string_view text);

/// U+FFFD, which replaces an invalid sequence.
constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

/// Returns the text with every invalid sequence replaced by U+FFFD.
std::string repaired_utf8(std::string_view text);

/// Appends the UTF-8 form of `code_point` (a scalar value) to `text`.
void append_utf8(std::string& text, char32_t code_point);

/// Returns the code point of the valid character at the start of `text`; `bytes` is its length from
/// next_utf8().
char32_t code_point_of(std::string_view text, std::size_t bytes);

} // namespace etna
