#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::chat::jinja {

/// Properties of a code point as Python's str methods see them.
enum class Property : uint32_t {
    alphabetic = 1 << 2,
    printable = 1 << 3,
    upper = 1 << 4,
    lower = 1 << 5,
    title = 1 << 6,
    space = 1 << 7,
    case_ignorable = 1 << 8,
    name_start = 1 << 9,
    name_part = 1 << 10,
};

bool has(char32_t code_point, Property property);
bool is_cased(char32_t code_point);
bool is_decimal(char32_t code_point);
bool is_digit(char32_t code_point);   ///< decimals and such as superscripts
bool is_numeric(char32_t code_point); ///< digits and such as fractions
bool is_alphanumeric(char32_t code_point);
bool is_word_letter(char32_t code_point); ///< \w of Python's expressions: alphanumeric, or an underscore

/// Bytes of the character at `position` (below the size) and its code point; an invalid byte is U+FFFD alone.
struct Decoded {
    char32_t code_point;
    std::size_t bytes;
};
Decoded decode_at(std::string_view text, std::size_t position);

std::u32string decode(std::string_view text);
std::string encode(std::u32string_view text);
void append_utf8(std::string& text, char32_t code_point); ///< surrogates become U+FFFD
std::size_t count_code_points(std::string_view text);

/// Python's str.upper(), lower() (with the final sigma), title(), capitalize() and swapcase().
std::u32string upper_case(std::u32string_view text);
std::u32string lower_case(std::u32string_view text);
std::u32string title_case(std::u32string_view text);
std::u32string capital_case(std::u32string_view text);
std::u32string swapped_case(std::u32string_view text);

bool is_line_end(char32_t code_point); ///< where str.splitlines() splits

} // namespace etna::chat::jinja
