#include "core/chat/jinja/unicode.hpp"

#include "core/chat/jinja/unicode_tables.hpp"

#include <algorithm>

namespace etna::chat::jinja {
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

/// Appends what the table makes of the code point; false where it says nothing about it.
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

/// A sigma ends a word when a cased letter stands before it and none after it, ignorable marks aside.
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

std::size_t continuation_bytes(uint8_t lead) {
    if (lead >= 0xC2 && lead <= 0xDF)
        return 1;
    if (lead >= 0xE0 && lead <= 0xEF)
        return 2;
    return lead >= 0xF0 && lead <= 0xF4 ? 3 : 0;
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

Decoded decode_at(std::string_view text, std::size_t position) {
    const auto lead = static_cast<uint8_t>(text[position]);
    if (lead < 0x80)
        return {lead, 1};
    const std::size_t more = continuation_bytes(lead);
    if (more == 0 || text.size() - position <= more)
        return {replacement, 1};
    char32_t code_point = lead & (0x3FU >> more);
    for (std::size_t i = 1; i <= more; ++i) {
        const auto byte = static_cast<uint8_t>(text[position + i]);
        if ((byte & 0xC0) != 0x80)
            return {replacement, 1};
        code_point = code_point << 6 | (byte & 0x3F);
    }
    const char32_t smallest[] = {0x80, 0x800, 0x10000};
    const bool valid = code_point >= smallest[more - 1] && code_point <= 0x10FFFF &&
                       (code_point < 0xD800 || code_point > 0xDFFF);
    return valid ? Decoded{code_point, more + 1} : Decoded{replacement, 1};
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
    if ((code_point >= 0xD800 && code_point <= 0xDFFF) || code_point > 0x10FFFF)
        code_point = replacement;
    if (code_point < 0x80) {
        text += static_cast<char>(code_point);
        return;
    }
    const int more = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
    const char32_t lead_marks[] = {0xC0, 0xE0, 0xF0};
    text += static_cast<char>(lead_marks[more - 1] | code_point >> (6 * more));
    for (int i = more - 1; i >= 0; --i)
        text += static_cast<char>(0x80 | (code_point >> (6 * i) & 0x3F));
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

} // namespace etna::chat::jinja
