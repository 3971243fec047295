#include "core/jinja/string_escapes.hpp"

#include "core/jinja/print.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace etna::jinja {
namespace {

bool is_high_surrogate(uint32_t code_point) {
    return code_point >= 0xD800 && code_point < 0xDC00;
}

/// Returns the low surrogate of a character written as two \\u escapes.
std::optional<uint32_t> low_surrogate_at(std::string_view text, std::size_t position) {
    constexpr std::size_t digits = 4;
    if (text.substr(std::min(position, text.size()), 2) != "\\u")
        return {};
    const std::string_view number = text.substr(position + 2, digits);
    uint32_t code_point = 0;
    const auto result = std::from_chars(number.data(), number.data() + number.size(), code_point, 16);
    const bool is_whole = number.size() == digits && result.ptr == number.data() + digits;
    return is_whole && code_point >= 0xDC00 && code_point < 0xE000 ? std::optional(code_point) : std::nullopt;
}

/// Resolves the escape at `position` (of the backslash); returns the offset after it, or nothing if Python
/// rejects it.
std::optional<std::size_t> append_escape(std::string& out, std::string_view text, std::size_t position) {
    const char letter = text[position + 1];
    const std::string_view letters = "\\'\"abfnrtv";
    const std::string_view meanings = "\\'\"\a\b\f\n\r\t\v";
    if (const std::size_t known = letters.find(letter); known != std::string_view::npos) {
        out += meanings[known];
        return position + 2;
    }
    if (letter == '\n')
        return position + 2;
    if (static_cast<uint8_t>(letter) >= 0x80) { // the reference escapes it first, then sees two backslashes
        const std::size_t bytes = decode_at(text, position + 1).bytes;
        out += ascii_only(text.substr(position + 1, bytes));
        return position + 1 + bytes;
    }
    if (letter == 'N')
        return {}; // escapes by character name are not supported
    const bool is_octal = letter >= '0' && letter <= '7';
    const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 3;
    if (!is_octal && digits == 3) {
        out += '\\';
        return position + 1;
    }
    const std::string_view number = text.substr(position + (is_octal ? 1 : 2), digits);
    uint32_t code_point = 0;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), code_point, is_octal ? 8 : 16);
    const auto length = static_cast<std::size_t>(end - number.data());
    if (error != std::errc() || (!is_octal && length != digits) || code_point > 0x10FFFF)
        return {};
    const std::size_t end_of_escape = position + (is_octal ? 1 : 2) + length;
    if (const auto low = low_surrogate_at(text, end_of_escape); low && is_high_surrogate(code_point)) {
        append_utf8(out, 0x10000 + ((code_point - 0xD800) << 10) + (*low - 0xDC00));
        return end_of_escape + 6;
    }
    append_utf8(out, code_point);
    return end_of_escape;
}

} // namespace

std::optional<std::size_t> append_unescaped(std::string& out, std::string_view raw) {
    for (std::size_t place = 0; place < raw.size();) {
        if (raw[place] != '\\') {
            out += raw[place++];
            continue;
        }
        const auto next = append_escape(out, raw, place);
        if (!next)
            return place;
        place = *next;
    }
    return {};
}

} // namespace etna::jinja
