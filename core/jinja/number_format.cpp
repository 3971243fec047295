#include "core/jinja/number_format.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/real_format.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

bool is_align(char letter) {
    return letter == '<' || letter == '>' || letter == '^' || letter == '=';
}

/// Parses and removes leading digits of `text`; returns -1 if there are none.
int64_t take_number(std::string_view& text) {
    int64_t number = -1;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || text[0] == '-' || result.ec == std::errc::invalid_argument)
        return -1;
    text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
    return result.ec == std::errc() ? number : std::numeric_limits<int64_t>::max();
}

/// Sign, "0x" prefix and digits, separate because the alignment = pads between them.
struct NumberParts {
    std::string sign;
    std::string prefix;
    std::string digits; ///< before the point or exponent
    std::string rest;   ///< from there on
};

/// Inserts `group` between every `size` digits, and leading zeros up to the width.
std::string grouped(const std::string& digits, char group, std::size_t size, int64_t width) {
    std::string reversed;
    auto left = static_cast<int64_t>(digits.size());
    while (true) {
        const int64_t count = std::min(static_cast<int64_t>(size), std::max({left, width, int64_t{1}}));
        for (int64_t i = 0; i < count; ++i)
            reversed += left > 0 ? digits[static_cast<std::size_t>(--left)] : '0';
        width -= count;
        if (left == 0 && width <= 0)
            break;
        reversed += group;
        --width;
    }
    return {reversed.rbegin(), reversed.rend()};
}

Status check_group(const FormatSpec& spec) {
    constexpr std::string_view without_commas = "bcnoxX";
    const bool is_refused = spec.group == '_' ? spec.type == 'n' || spec.type == 'c'
                                              : without_commas.find(spec.type) != std::string_view::npos;
    if (spec.group == 0 || spec.type == 0 || !is_refused)
        return {};
    return value_error(fmt::format("Cannot specify '{}' with '{}'.", spec.group, spec.type));
}

/// Joins the parts and pads the result.
Result<std::string> joined(Machine& machine, NumberParts parts, const FormatSpec& spec) {
    const std::string front = parts.sign + parts.prefix;
    if (spec.group != 0 && !parts.digits.empty()) {
        const bool fills_zeros = spec.align == '=' && spec.fill == "0";
        const auto taken = static_cast<int64_t>(front.size() + parts.rest.size());
        if (spec.width > static_cast<int64_t>(machine.limits().live_bytes))
            return machine.room_for(machine.limits().live_bytes + 1).error();
        const bool in_fours =
            spec.type != 0 && std::string_view("boxX").find(spec.type) != std::string_view::npos;
        ETNA_CHECK(machine.reserve(static_cast<std::size_t>(spec.width)));
        parts.digits =
            grouped(parts.digits, spec.group, in_fours ? 4 : 3, fills_zeros ? spec.width - taken : 0);
    }
    if (spec.align != '=')
        return aligned(machine, front + parts.digits + parts.rest, spec, '>');
    FormatSpec inside = spec;
    inside.align = '>';
    inside.width -= static_cast<int64_t>(front.size());
    ETNA_TRY(const auto filled, aligned(machine, parts.digits + parts.rest, inside, '>'));
    return front + filled;
}

/// Returns the digits of an integer without its sign.
Result<std::string> integer_digits(const Value& value, const FormatSpec& spec) {
    if (spec.type == 0 || spec.type == 'd' || spec.type == 'n') {
        const std::string text = integer_text(value);
        return text[0] == '-' ? text.substr(1) : text;
    }
    const auto integer = integer_of(value);
    if (!integer)
        return python_error("OverflowError", "templates write so large an integer in decimal digits only");
    const auto bits = static_cast<uint64_t>(*integer);
    const uint64_t magnitude = *integer < 0 ? 0 - bits : bits;
    return fmt::format(fmt::runtime(std::string{'{', ':', spec.type, '}'}), magnitude);
}

Error unknown_code(char code, const Value& value) {
    return value_error(
        fmt::format("Unknown format code '{}' for object of type '{}'", code, type_name(value)));
}

Result<std::string> formatted_character(Machine& machine, const Value& value, const FormatSpec& spec) {
    const auto code_point = integer_of(value);
    if (!code_point || *code_point < 0 || *code_point > 0x10FFFF)
        return python_error("OverflowError", "%c arg not in range(0x110000)");
    std::string character;
    append_utf8(character, static_cast<char32_t>(*code_point));
    return aligned(machine, character, spec, '<');
}

Result<std::string> formatted_number(Machine& machine, const Value& value, const FormatSpec& spec) {
    constexpr std::string_view real_types = "eEfFgG%";
    constexpr std::string_view integer_types = "bcdnoxX";
    const bool has_real_type = spec.type != 0 && real_types.find(spec.type) != std::string_view::npos;
    const bool has_integer_type = spec.type != 0 && integer_types.find(spec.type) != std::string_view::npos;
    const bool as_real = value.is(Type::real) || has_real_type;
    if (spec.type != 0 && spec.type != 'n' && !(as_real ? has_real_type : has_integer_type))
        return unknown_code(spec.type, value);
    ETNA_CHECK(check_group(spec));
    bool is_negative = false;
    NumberParts parts;
    if (as_real) {
        ETNA_TRY(const double real, float_of(value));
        is_negative = std::signbit(real);
        ETNA_TRY(parts.digits, real_digits(std::fabs(real), spec));
        const std::size_t end = std::min(parts.digits.find_first_not_of("0123456789"), parts.digits.size());
        parts.rest = parts.digits.substr(end);
        parts.digits.resize(end);
    } else {
        if (spec.precision >= 0)
            return value_error("Precision not allowed in integer format specifier");
        if (spec.type == 'c')
            return formatted_character(machine, value, spec);
        is_negative = number_order(value, Value(int64_t{0})) < 0;
        if (spec.alternate && has_integer_type && spec.type != 'd' && spec.type != 'n')
            parts.prefix = {'0', spec.type};
        ETNA_TRY(parts.digits, integer_digits(value, spec));
    }
    parts.sign = is_negative ? "-" : (spec.sign == '-' ? "" : std::string(1, spec.sign));
    return joined(machine, std::move(parts), spec);
}

} // namespace

Result<FormatSpec> parse_format_spec(std::string_view text) {
    FormatSpec spec;
    const std::size_t first = text.empty() ? 0 : decode_at(text, 0).bytes;
    const bool has_fill = text.size() > first && is_align(text[first]);
    if (has_fill) {
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
    if (take("0") != 0) {
        if (!has_fill)
            spec.fill.assign(1, '0');
        if (spec.align == 0)
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

} // namespace etna::jinja
