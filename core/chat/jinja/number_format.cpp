#include "core/chat/jinja/number_format.hpp"

#include "core/chat/jinja/errors.hpp"
#include "core/chat/jinja/operators.hpp"
#include "core/chat/jinja/print.hpp"
#include "core/chat/jinja/unicode.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace etna::chat::jinja {
namespace {

constexpr int64_t precision_max = 1000; ///< digits; Python's own bound is that of an int

bool is_align(char letter) {
    return letter == '<' || letter == '>' || letter == '^' || letter == '=';
}

/// Reads digits at the beginning of `text` and removes them; -1 where there are none.
int64_t take_number(std::string_view& text) {
    int64_t number = -1;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || text[0] == '-' || result.ec == std::errc::invalid_argument)
        return -1;
    text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
    return result.ec == std::errc() ? number : std::numeric_limits<int64_t>::max();
}

std::string grouped(const std::string& digits, char group) {
    const std::size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
    std::string out;
    for (std::size_t i = 0; i < end; ++i) {
        if (i > 0 && (end - i) % 3 == 0)
            out += group;
        out += digits[i];
    }
    return out + digits.substr(end);
}

Result<std::string> real_digits(double magnitude, const FormatSpec& spec) {
    if (spec.precision > precision_max)
        return value_error("precision too big");
    const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
    switch (spec.type) {
    case 'e':
        return fmt::format("{:.{}e}", magnitude, precision);
    case 'E':
        return fmt::format("{:.{}E}", magnitude, precision);
    case 'f':
    case 'F':
        return fmt::format("{:.{}f}", magnitude, precision);
    case 'g':
    case 'n':
        return fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
    case 'G':
        return fmt::format("{:.{}G}", magnitude, std::max(precision, 1));
    case '%':
        return fmt::format("{:.{}f}%", magnitude * 100, precision);
    default:
        break;
    }
    if (spec.precision < 0)
        return real_text(magnitude);
    std::string text = fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
    if (text.find_first_of(".en") == std::string::npos)
        text += ".0";
    return text;
}

std::string integer_digits(uint64_t magnitude, const FormatSpec& spec) {
    switch (spec.type) {
    case 'b':
        return (spec.alternate ? "0b" : "") + fmt::format("{:b}", magnitude);
    case 'o':
        return (spec.alternate ? "0o" : "") + fmt::format("{:o}", magnitude);
    case 'x':
        return (spec.alternate ? "0x" : "") + fmt::format("{:x}", magnitude);
    case 'X':
        return (spec.alternate ? "0X" : "") + fmt::format("{:X}", magnitude);
    default:
        return std::to_string(magnitude);
    }
}

Error unknown_code(char code, const Value& value) {
    return value_error(
        fmt::format("Unknown format code '{}' for object of type '{}'", code, type_name(value)));
}

/// Sign and digits apart, as filling with = stands between them.
Result<std::string> formatted_number(Machine& machine, const Value& value, const FormatSpec& spec) {
    constexpr std::string_view real_types = "eEfFgG%";
    const bool as_real =
        value.is(Type::real) || (spec.type != 0 && real_types.find(spec.type) != std::string_view::npos);
    bool is_negative = false;
    std::string digits;
    if (as_real) {
        if (spec.type != 0 && spec.type != 'n' && real_types.find(spec.type) == std::string_view::npos)
            return unknown_code(spec.type, value);
        is_negative = std::signbit(real_of(value));
        ETNA_TRY(digits, real_digits(std::fabs(real_of(value)), spec));
    } else {
        if (spec.type == 'c') {
            std::string character;
            append_utf8(character, static_cast<char32_t>(*integer_of(value)));
            return aligned(machine, character, spec, '<');
        }
        if (spec.type != 0 && std::string_view("dnboxX").find(spec.type) == std::string_view::npos)
            return unknown_code(spec.type, value);
        if (spec.precision >= 0)
            return value_error("Precision not allowed in integer format specifier");
        const int64_t integer = *integer_of(value);
        is_negative = integer < 0;
        digits = integer_digits(
            is_negative ? 0 - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer), spec);
    }
    if (spec.group != 0)
        digits = grouped(digits, spec.group);
    const std::string sign = is_negative ? "-" : (spec.sign == '-' ? "" : std::string(1, spec.sign));
    if (spec.align != '=')
        return aligned(machine, sign + digits, spec, '>');
    FormatSpec rest = spec;
    rest.align = '>';
    rest.width -= static_cast<int64_t>(sign.size());
    ETNA_TRY(const auto filled, aligned(machine, digits, rest, '>'));
    return sign + filled;
}

} // namespace

Result<FormatSpec> parse_format_spec(std::string_view text) {
    FormatSpec spec;
    const std::size_t first = text.empty() ? 0 : decode_at(text, 0).bytes;
    if (text.size() > first && is_align(text[first])) {
        spec.fill = text.substr(0, first);
        spec.align = text[first];
        text.remove_prefix(first + 1);
    } else if (!text.empty() && is_align(text[0])) {
        spec.align = text[0];
        text.remove_prefix(1);
    }
    const auto take = [&](std::string_view letters) {
        if (text.empty() || letters.find(text[0]) == std::string_view::npos)
            return '\0';
        const char letter = text[0];
        text.remove_prefix(1);
        return letter;
    };
    if (const char sign = take("+- "))
        spec.sign = sign;
    spec.alternate = take("#") != 0;
    if (take("0") != 0 && spec.align == 0) {
        spec.fill.assign(1, '0');
        spec.align = '=';
    }
    spec.width = std::max<int64_t>(take_number(text), 0);
    spec.group = take(",_");
    if (take(".") != 0) {
        spec.precision = take_number(text);
        if (spec.precision < 0)
            return value_error("Format specifier missing precision");
    }
    spec.type = take("bcdeEfFgGnosxX%");
    if (!text.empty())
        return value_error("Invalid format specifier");
    return spec;
}

Result<std::string> aligned(Machine& machine, std::string text, const FormatSpec& spec, char fallback) {
    const auto length = static_cast<int64_t>(count_code_points(text));
    if (spec.width <= length)
        return text;
    const auto missing = static_cast<uint64_t>(spec.width - length);
    if (missing > machine.limits().live_bytes)
        return machine.room_for(machine.limits().live_bytes + 1).error();
    ETNA_CHECK(machine.reserve(missing * spec.fill.size()));
    const char align = spec.align != 0 ? spec.align : fallback;
    const uint64_t before = align == '<' ? 0 : (align == '^' ? missing / 2 : missing);
    std::string out;
    for (uint64_t i = 0; i < before; ++i)
        out += spec.fill;
    out += text;
    for (uint64_t i = before; i < missing; ++i)
        out += spec.fill;
    return out;
}

Result<std::string> formatted(Machine& machine, const Value& value, const FormatSpec& spec) {
    const bool says_nothing = spec == FormatSpec{};
    if (is_number(value) && !(value.is(Type::boolean) && says_nothing))
        return formatted_number(machine, value, spec);
    if (!value.is(Type::string) && !says_nothing) {
        return type_error(fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
    }
    if (spec.type != 0 && spec.type != 's')
        return unknown_code(spec.type, value);
    if (spec.group != 0)
        return value_error(fmt::format("Cannot specify '{}' with 's'.", spec.group));
    if (spec.sign != '-' || spec.alternate || spec.align == '=') {
        const std::string_view what =
            spec.sign != '-' ? "Sign" : (spec.alternate ? "Alternate form (#)" : "'=' alignment");
        return value_error(fmt::format("{} not allowed in string format specifier", what));
    }
    ETNA_TRY(auto text, to_text(machine, value));
    if (spec.precision >= 0) {
        std::u32string letters = decode(text);
        letters.resize(std::min<std::size_t>(letters.size(), static_cast<std::size_t>(spec.precision)));
        text = encode(letters);
    }
    return aligned(machine, std::move(text), spec, '<');
}

} // namespace etna::chat::jinja
