#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace etna {

enum class Utf8Kind {
    valid,     ///< one whole character
    invalid,   ///< bytes that no continuation could make valid
    truncated, ///< the beginning of a character; the text ends before the rest
};

/// The first character of a text, or the first stretch of it that is none.
struct Utf8Step {
    Utf8Kind kind = Utf8Kind::invalid;
    std::size_t bytes = 1; ///< how far to go on; at least 1, at most 4
};

/// Looks at the beginning of `text` (not empty). An invalid stretch is the "maximal subpart" that the Unicode
/// Standard 15, section 3.9 (U+FFFD substitution) and the WHATWG Encoding Standard replace by one U+FFFD.
/// Overlong forms, surrogates and everything above U+10FFFF are invalid.
Utf8Step next_utf8(std::string_view text);

/// Length in bytes of the longest prefix of `text` that is valid UTF-8 throughout.
std::size_t valid_utf8_prefix(std::string_view text);

/// U+FFFD, what stands for an invalid stretch.
constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

/// The text with U+FFFD in place of every invalid stretch.
std::string repaired_utf8(std::string_view text);

/// Appends the UTF-8 form of `code_point` (a scalar value) to `text`.
void append_utf8(std::string& text, char32_t code_point);

/// The code point of the valid character at the beginning of `text`, `bytes` long as next_utf8() said.
char32_t code_point_of(std::string_view text, std::size_t bytes);

} // namespace etna
