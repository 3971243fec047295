#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::jinja {

/// Properties of a code point as defined by Python's str methods.
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
bool is_digit(char32_t code_point);   ///< decimals, superscripts and similar
bool is_numeric(char32_t code_point); ///< digits, fractions and similar
bool is_alphanumeric(char32_t code_point);
bool is_word_letter(char32_t code_point); ///< \w of Python's re module: alphanumeric, or an underscore

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

/// Python's str.upper(), lower() (with the final sigma), title(), capitalize() and swapcase().
std::u32string upper_case(std::u32string_view text);
std::u32string lower_case(std::u32string_view text);
std::u32string title_case(std::u32string_view text);
std::u32string capital_case(std::u32string_view text);
std::u32string swapped_case(std::u32string_view text);

bool is_line_end(char32_t code_point); ///< where str.splitlines() splits

} // namespace etna::jinja
