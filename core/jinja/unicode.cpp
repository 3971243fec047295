#include "core/jinja/unicode.hpp"

#include "core/base/utf8.hpp"
#include "core/jinja/unicode_tables.hpp"

#include <algorithm>

namespace etna::jinja {
namespace {

constexpr char32_t replacement = 0xFFFD;
constexpr char32_t capital_sigma = 0x3A3;
constexpr char32_t final_sigma = 0x3C2;

uint32_t properties_of(char32_t code_point) {
    const uint32_t* first = tables::property_runs;
    const uint32_t* last = first + tables::property_run_count;
    const uint32_t wanted = std::min<uint32_t>(code_point, 0x10FFFF) << 11 | 0x7FF;
    return *(std::upper_bound(first, last, wanted) - 1) & 0x7FF;
}

struct CaseTable {
    const tables::CaseRange* ranges;
    std::size_t range_count;
    const tables::CaseExpansion* expansions;
    std::size_t expansion_count;
};

const CaseTable upper_table = {tables::upper_ranges, tables::upper_range_count, tables::upper_expansions,
                               tables::upper_expansion_count};
const CaseTable lower_table = {tables::lower_ranges, tables::lower_range_count, tables::lower_expansions,
                               tables::lower_expansion_count};
const CaseTable title_table = {tables::title_ranges, tables::title_range_count, tables::title_expansions,
                               tables::title_expansion_count};

/// Appends the table's mapping of the code point; returns false if it has none.
bool append_mapped(std::u32string& out, char32_t code_point, const CaseTable& table) {
    const auto* range =
        std::lower_bound(table.ranges, table.ranges + table.range_count, code_point,
                         [](const tables::CaseRange& each, char32_t wanted) { return each.last < wanted; });
    if (range != table.ranges + table.range_count && range->first <= code_point &&
        (code_point - range->first) % range->step == 0) {
        out += static_cast<char32_t>(static_cast<int64_t>(code_point) + range->delta);
        return true;
    }
    const auto* expansion = std::lower_bound(
        table.expansions, table.expansions + table.expansion_count, code_point,
        [](const tables::CaseExpansion& each, char32_t wanted) { return each.code_point < wanted; });
    if (expansion == table.expansions + table.expansion_count || expansion->code_point != code_point)
        return false;
    for (const uint32_t part : expansion->becomes) {
        if (part != 0)
            out += static_cast<char32_t>(part);
    }
    return true;
}

void append_upper(std::u32string& out, char32_t code_point) {
    if (!append_mapped(out, code_point, upper_table))
        out += code_point;
}

void append_title(std::u32string& out, char32_t code_point) {
    if (!append_mapped(out, code_point, title_table))
        append_upper(out, code_point);
}

/// Whether a sigma ends a word: a cased letter precedes it and none follows, ignoring ignorable marks.
bool is_final_sigma(std::u32string_view text, std::size_t place) {
    std::size_t before = place;
    while (before > 0 && has(text[before - 1], Property::case_ignorable))
        --before;
    if (before == 0 || !is_cased(text[before - 1]))
        return false;
    std::size_t after = place + 1;
    while (after < text.size() && has(text[after], Property::case_ignorable))
        ++after;
    return after == text.size() || !is_cased(text[after]);
}

void append_lower(std::u32string& out, std::u32string_view text, std::size_t place) {
    if (text[place] == capital_sigma && is_final_sigma(text, place)) {
        out += final_sigma;
    } else if (!append_mapped(out, text[place], lower_table)) {
        out += text[place];
    }
}

} // namespace

bool has(char32_t code_point, Property property) {
    return (properties_of(code_point) & static_cast<uint32_t>(property)) != 0;
}

bool is_cased(char32_t code_point) {
    constexpr auto cased = static_cast<uint32_t>(Property::upper) | static_cast<uint32_t>(Property::lower) |
                           static_cast<uint32_t>(Property::title);
    return (properties_of(code_point) & cased) != 0;
}

bool is_decimal(char32_t code_point) {
    return (properties_of(code_point) & 3) == 3;
}

bool is_digit(char32_t code_point) {
    return (properties_of(code_point) & 3) >= 2;
}

bool is_numeric(char32_t code_point) {
    return (properties_of(code_point) & 3) != 0;
}

bool is_alphanumeric(char32_t code_point) {
    return has(code_point, Property::alphabetic) || is_numeric(code_point);
}

bool is_word_letter(char32_t code_point) {
    return code_point == '_' || is_alphanumeric(code_point);
}

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

std::u32string upper_case(std::u32string_view text) {
    std::u32string result;
    for (const char32_t code_point : text)
        append_upper(result, code_point);
    return result;
}

std::u32string lower_case(std::u32string_view text) {
    std::u32string result;
    for (std::size_t i = 0; i < text.size(); ++i)
        append_lower(result, text, i);
    return result;
}

std::u32string title_case(std::u32string_view text) {
    std::u32string result;
    bool in_word = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (in_word) {
            append_lower(result, text, i);
        } else {
            append_title(result, text[i]);
        }
        in_word = is_cased(text[i]);
    }
    return result;
}

std::u32string capital_case(std::u32string_view text) {
    std::u32string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i == 0) {
            append_title(result, text[i]);
        } else {
            append_lower(result, text, i);
        }
    }
    return result;
}

std::u32string swapped_case(std::u32string_view text) {
    std::u32string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (has(text[i], Property::upper)) {
            append_lower(result, text, i);
        } else if (has(text[i], Property::lower)) {
            append_upper(result, text[i]);
        } else {
            result += text[i];
        }
    }
    return result;
}

bool is_line_end(char32_t code_point) {
    return (code_point >= 0x0A && code_point <= 0x0D) || (code_point >= 0x1C && code_point <= 0x1E) ||
           code_point == 0x85 || code_point == 0x2028 || code_point == 0x2029;
}

} // namespace etna::jinja
