#include "core/grammar/schema/json_text.hpp"

#include <array>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

constexpr char32_t control_last = 0x1F;

/// Characters that must be escaped.
CodePoints escaped_characters() {
    return {{0, control_last}, {'"', '"'}, {'\\', '\\'}};
}

std::string escape(char32_t code_point) {
    switch (code_point) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return fmt::format("\\u{:04x}", static_cast<uint32_t>(code_point));
    }
}

} // namespace

Expression json_space(Language& language, JsonSpacing spacing) {
    if (spacing == JsonSpacing::none)
        return empty;
    if (spacing == JsonSpacing::single)
        return language.either(std::array{empty, language.literal(" "), language.literal("\n")});
    ByteSet blank = ByteSet::one(' ');
    blank |= ByteSet::one('\t');
    const Expression indentation = language.repeat(language.bytes(blank), 0, json_indentation_max);
    return language.either(
        std::array{empty, language.literal(" "), language.sequence(language.literal("\n"), indentation)});
}

Expression json_space_after_colon(Language& language, JsonSpacing spacing) {
    return spacing == JsonSpacing::none ? empty : language.optional(language.literal(" "));
}

Expression json_character(Language& language, const CodePoints& set) {
    const CodePoints escaped = escaped_characters();
    std::vector<Expression> alternatives = {utf8(language, set.without(escaped))};
    for (const CodePoints::Range& range : escaped.ranges()) {
        for (char32_t one = range.first; one <= range.last; ++one) {
            if (set.contains(one))
                alternatives.push_back(language.literal(escape(one)));
        }
    }
    return language.either(alternatives);
}

std::string json_escaped(std::string_view text) {
    std::string result;
    for (const char byte : text) {
        const auto value = static_cast<unsigned char>(byte);
        if (value <= control_last || byte == '"' || byte == '\\') {
            result += escape(value);
        } else {
            result += byte;
        }
    }
    return result;
}

} // namespace etna::grammar
