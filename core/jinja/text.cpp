#include "core/jinja/text.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <utf8proc.h>

namespace etna::jinja {
namespace {

constexpr char32_t replacement = 0xFFFD;
constexpr char32_t capital_sigma = 0x3A3;
constexpr char32_t final_sigma = 0x3C2;

/// Upper case of characters that become several; libutf8proc maps one to one.
constexpr std::pair<char32_t, std::u32string_view> expansions[] = {
    {0xDF, U"SS"},    {0x149, U"\u02BCN"}, {0xFB00, U"FF"}, {0xFB01, U"FI"}, {0xFB02, U"FL"},
    {0xFB03, U"FFI"}, {0xFB04, U"FFL"},    {0xFB05, U"ST"}, {0xFB06, U"ST"}};

utf8proc_category_t category_of(char32_t code_point) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

bool is_letter(char32_t code_point) {
    const auto category = category_of(code_point);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_line_end(char32_t code_point) {
    return (code_point >= 0x0A && code_point <= 0x0D) || (code_point >= 0x1C && code_point <= 0x1E) ||
           code_point == 0x85 || code_point == 0x2028 || code_point == 0x2029;
}

char32_t lower_of(char32_t code_point) {
    return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point)));
}

std::u32string upper_of(char32_t code_point) {
    for (const auto& [from, to] : expansions) {
        if (from == code_point)
            return std::u32string(to);
    }
    return std::u32string(1,
                          static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code_point))));
}

/// The upper case at the start of a word: DŽ becomes Dž, ß becomes Ss.
std::u32string title_of(char32_t code_point) {
    std::u32string upper = upper_of(code_point);
    if (upper.size() == 1)
        return std::u32string(
            1, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code_point))));
    for (std::size_t i = code_point == 0x149 ? 2 : 1; i < upper.size(); ++i)
        upper[i] = lower_of(upper[i]);
    return upper;
}

/// Lower case; a sigma at the end of a word becomes ς.
char32_t lower_at(std::u32string_view text, std::size_t index) {
    const bool is_final = text[index] == capital_sigma && index > 0 && is_letter(text[index - 1]) &&
                          (index + 1 == text.size() || !is_letter(text[index + 1]));
    return is_final ? final_sigma : lower_of(text[index]);
}

std::size_t limit_of(int64_t count) {
    return count < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(count);
}

/// Returns the offset of the last character. Precondition: the text is not empty.
std::size_t last_character(std::string_view text) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80)
        --begin;
    return begin + decode_at(text, begin).bytes == text.size() ? begin : text.size() - 1;
}

std::vector<std::string> split_at_spaces(std::string_view text, std::size_t splits_max) {
    std::vector<std::string> parts;
    text = stripped(text, {}, Side::left);
    while (!text.empty()) {
        std::size_t end = 0;
        while (end < text.size() && parts.size() < splits_max && !is_space(decode_at(text, end).code_point))
            end += decode_at(text, end).bytes;
        if (parts.size() == splits_max) {
            parts.emplace_back(text);
            break;
        }
        parts.emplace_back(text.substr(0, end));
        text = stripped(text.substr(end), {}, Side::left);
    }
    return parts;
}

/// Returns the number of occurrences that do not overlap, at most `count_max`. Precondition: `part` is not
/// empty.
std::size_t count_occurrences(std::string_view text, std::string_view part, std::size_t count_max) {
    std::size_t count = 0;
    for (std::size_t at = find_in(text, part); at != std::string_view::npos && count < count_max;
         at = find_in(text, part, at + part.size()))
        ++count;
    return count;
}

} // namespace

Decoded decode_at(std::string_view text, std::size_t position) {
    const Utf8Step step = next_utf8(text.substr(position));
    if (step.kind != Utf8Kind::valid)
        return {replacement, 1};
    return {code_point_of(text.substr(position), step.bytes), step.bytes};
}

std::u32string decode(std::string_view text) {
    std::u32string result;
    result.reserve(text.size());
    for (std::size_t position = 0; position < text.size();) {
        const Decoded decoded = decode_at(text, position);
        result += decoded.code_point;
        position += decoded.bytes;
    }
    return result;
}

std::string encode(std::u32string_view text) {
    std::string result;
    result.reserve(text.size());
    for (const char32_t code_point : text)
        append_utf8(result, code_point);
    return result;
}

void append_utf8(std::string& text, char32_t code_point) {
    const bool is_scalar = code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF);
    etna::append_utf8(text, is_scalar ? code_point : replacement);
}

std::size_t count_code_points(std::string_view text) {
    std::size_t count = 0;
    for (std::size_t position = 0; position < text.size(); ++count)
        position += decode_at(text, position).bytes;
    return count;
}

bool is_space(char32_t code_point) {
    return (code_point >= 0x09 && code_point <= 0x0D) || (code_point >= 0x1C && code_point <= 0x20) ||
           code_point == 0x85 || (code_point >= 0x80 && category_of(code_point) == UTF8PROC_CATEGORY_ZS) ||
           code_point == 0x2028 || code_point == 0x2029;
}

bool is_printable(char32_t code_point) {
    const auto category = category_of(code_point);
    return code_point == ' ' || (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_SO);
}

bool is_name_start(char32_t code_point) {
    return code_point == '_' || is_letter(code_point) || category_of(code_point) == UTF8PROC_CATEGORY_NL;
}

bool is_name_part(char32_t code_point) {
    const auto category = category_of(code_point);
    return is_name_start(code_point) || category == UTF8PROC_CATEGORY_MN ||
           category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ND ||
           category == UTF8PROC_CATEGORY_PC || code_point == 0xB7;
}

std::string upper_case(std::string_view text) {
    std::u32string result;
    for (const char32_t letter : decode(text))
        result += upper_of(letter);
    return encode(result);
}

std::string lower_case(std::string_view text) {
    const std::u32string letters = decode(text);
    std::u32string result;
    for (std::size_t i = 0; i < letters.size(); ++i)
        result += lower_at(letters, i);
    return encode(result);
}

std::string title_case(std::string_view text, bool (*separates)(char32_t)) {
    const std::u32string letters = decode(text);
    std::u32string result;
    bool in_word = false;
    for (std::size_t i = 0; i < letters.size(); ++i) {
        result += in_word ? std::u32string(1, lower_at(letters, i)) : title_of(letters[i]);
        in_word = !separates(letters[i]);
    }
    return encode(result);
}

std::string capital_case(std::string_view text) {
    return title_case(text, [](char32_t) { return false; });
}

bool is_no_letter(char32_t code_point) {
    return !is_letter(code_point);
}

bool is_word_break(char32_t code_point) {
    return is_space(code_point) ||
           std::u32string_view(U"-({[<").find(code_point) != std::u32string_view::npos;
}

std::size_t find_in(std::string_view text, std::string_view part, std::size_t from) {
    if (from > text.size())
        return std::string_view::npos;
    const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
    if (found == nullptr)
        return std::string_view::npos;
    return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::string_view stripped(std::string_view text, std::optional<std::string_view> characters, Side side) {
    const std::u32string set = characters ? decode(*characters) : std::u32string();
    const auto is_stripped = [&](char32_t code_point) {
        return characters ? set.find(code_point) != std::u32string::npos : is_space(code_point);
    };
    while ((static_cast<int>(side) & 1) != 0 && !text.empty() && is_stripped(decode_at(text, 0).code_point))
        text.remove_prefix(decode_at(text, 0).bytes);
    while ((static_cast<int>(side) & 2) != 0 && !text.empty()) {
        const std::size_t last = last_character(text);
        if (!is_stripped(decode_at(text, last).code_point))
            break;
        text = text.substr(0, last);
    }
    return text;
}

std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator,
                               int64_t splits_max) {
    const std::size_t limit = limit_of(splits_max);
    if (!separator)
        return split_at_spaces(text, limit);
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (parts.size() < limit) {
        const std::size_t at = find_in(text, *separator, begin);
        if (at == std::string_view::npos)
            break;
        parts.emplace_back(text.substr(begin, at - begin));
        begin = at + separator->size();
    }
    parts.emplace_back(text.substr(begin));
    return parts;
}

std::vector<std::string> split_lines(std::string_view text) {
    std::vector<std::string> lines;
    std::size_t begin = 0;
    for (std::size_t position = 0; position < text.size();) {
        const Decoded decoded = decode_at(text, position);
        std::size_t next = position + decoded.bytes;
        if (is_line_end(decoded.code_point)) {
            if (decoded.code_point == '\r' && next < text.size() && text[next] == '\n')
                ++next;
            lines.emplace_back(text.substr(begin, position - begin));
            begin = next;
        }
        position = next;
    }
    if (begin < text.size())
        lines.emplace_back(text.substr(begin));
    return lines;
}

std::size_t replaced_bytes(std::string_view text, std::string_view from, std::string_view to, int64_t count) {
    const std::size_t limit = limit_of(count);
    const std::size_t matches =
        from.empty() ? std::min(limit, count_code_points(text) + 1) : count_occurrences(text, from, limit);
    if (to.size() > from.size() &&
        matches > (std::numeric_limits<std::size_t>::max() - text.size()) / (to.size() - from.size()))
        return std::numeric_limits<std::size_t>::max();
    return text.size() + matches * to.size() - matches * from.size();
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t count) {
    std::size_t left = limit_of(count);
    std::string out;
    std::size_t position = 0;
    if (from.empty()) {
        for (; left > 0 && position <= text.size(); --left) {
            out += to;
            if (position == text.size())
                return out;
            const std::size_t bytes = decode_at(text, position).bytes;
            out += text.substr(position, bytes);
            position += bytes;
        }
        return out.append(text.substr(position));
    }
    for (; left > 0; --left) {
        const std::size_t at = find_in(text, from, position);
        if (at == std::string_view::npos)
            break;
        out.append(text.substr(position, at - position)).append(to);
        position = at + from.size();
    }
    return out.append(text.substr(position));
}

} // namespace etna::jinja
