#include "core/text/unicode.hpp"

#include <array>
#include <cstddef>

#include <utf8proc.h>

namespace etna::text {
namespace {

utf8proc_int32_t code_point(char32_t one) {
    return static_cast<utf8proc_int32_t>(one);
}

} // namespace

bool is_other(char32_t one) {
    const auto category = utf8proc_category(code_point(one));
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_CO;
}

bool is_nonspacing_mark(char32_t one) {
    return utf8proc_category(code_point(one)) == UTF8PROC_CATEGORY_MN;
}

bool is_punctuation(char32_t one) {
    const auto category = utf8proc_category(code_point(one));
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_white_space(char32_t one) {
    return (one >= 9 && one <= 13) || one == ' ' || one == 0x85 || one == 0xA0 || one == 0x1680 ||
           (one >= 0x2000 && one <= 0x200A) || one == 0x2028 || one == 0x2029 || one == 0x202F ||
           one == 0x205F || one == 0x3000;
}

char32_t to_lower(char32_t one) {
    return static_cast<char32_t>(utf8proc_tolower(code_point(one)));
}

void append_decomposed(char32_t one, std::u32string& text) {
    constexpr utf8proc_ssize_t longest = 8; // Unicode's longest canonical decomposition has 4
    std::array<utf8proc_int32_t, longest> parts = {};
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(code_point(one), parts.data(), parts.size(), UTF8PROC_DECOMPOSE, &boundary);
    if (count <= 0 || count > longest) { // not a code point
        text += one;
        return;
    }
    for (utf8proc_ssize_t i = 0; i < count; ++i)
        text += static_cast<char32_t>(parts[static_cast<std::size_t>(i)]);
}

} // namespace etna::text
