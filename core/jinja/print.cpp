#include "core/jinja/print.hpp"

#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr int fixed_exponent_min = -4; ///< outside this range Python prints an exponent
constexpr int fixed_exponent_max = 16;

constexpr std::string_view percent_placeholders = "%s%d%%"; ///< pairs; all begin with the first letter
constexpr std::string_view brace_placeholders = "{}{{}}";   ///< pairs; all begin with one of the first two

Result<std::string> joined_reprs(Machine& machine, const std::vector<Value>& items) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
        ETNA_TRY(const auto part, to_repr(machine, items[i]));
        text += (i == 0 ? "" : ", ") + part;
        ETNA_CHECK(machine.room_for(text.size()));
    }
    return text;
}

Result<std::string> dict_repr(Machine& machine, const Dict& dict) {
    std::string text = "{";
    for (const Dict::Entry& entry : dict.entries) {
        ETNA_TRY(const auto key, to_repr(machine, entry.key));
        ETNA_TRY(const auto value, to_repr(machine, entry.value));
        text += text.size() == 1 ? "" : ", ";
        text.append(key).append(": ").append(value);
        ETNA_CHECK(machine.room_for(text.size()));
    }
    return text + "}";
}

void append_escaped_code_point(std::string& out, char32_t code_point) {
    constexpr std::string_view letters = "\n\r\t\\";
    constexpr std::string_view names = "nrt\\";
    const std::size_t known =
        code_point < 0x80 ? letters.find(static_cast<char>(code_point)) : std::string_view::npos;
    if (known != std::string_view::npos) {
        out += {'\\', names[known]};
    } else if (is_printable(code_point)) {
        append_utf8(out, code_point);
    } else {
        const auto number = static_cast<uint32_t>(code_point);
        out += number < 0x100     ? fmt::format("\\x{:02x}", number)
               : number < 0x10000 ? fmt::format("\\u{:04x}", number)
                                  : fmt::format("\\U{:08x}", number);
    }
}

/// Returns the first placeholder that is not supported, up to a space; empty if there is none.
std::string_view first_unsupported(std::string_view format, std::string_view placeholders) {
    const std::string_view begins = placeholders.substr(0, placeholders[0] == '%' ? 1 : 2);
    for (std::size_t at = format.find_first_of(begins); at < format.size();
         at = format.find_first_of(begins, at + 2)) {
        if (at + 1 == format.size() || placeholders.find(format.substr(at, 2)) % 2 != 0)
            return format.substr(at, format.find(' ', at + 2) - at);
    }
    return {};
}

/// Replaces each placeholder of two letters by text_of(its second letter), doubled letters by one.
template <class TextOf>
Result<Value> formatted(Machine& machine, const Value& format, std::string_view placeholders,
                        const TextOf& text_of) {
    const std::string_view source = format.string();
    ETNA_CHECK(machine.reserve(source.size()));
    if (const auto wrong = first_unsupported(source, placeholders); !wrong.empty())
        return value_error("the format '{}' is not supported", wrong);
    const std::string_view begins = placeholders.substr(0, placeholders[0] == '%' ? 1 : 2);
    std::string out;
    for (std::size_t position = 0; position < source.size();) {
        const std::size_t at = std::min(source.find_first_of(begins, position), source.size());
        out += source.substr(position, at - position);
        position = at + 2;
        if (at == source.size())
            break;
        std::string part(1, source[at]);
        if (source[at] != source[at + 1]) {
            ETNA_TRY(part, text_of(source[at + 1]));
        }
        ETNA_CHECK(machine.grow(out.size(), part.size() + step_work));
        out += part;
    }
    return machine.text(std::move(out), format.is_markup());
}

/// Returns the text of a value in a format string: escaped if only the format string is markup.
Result<std::string> inserted_text(Machine& machine, const Value& format, const Value& value) {
    ETNA_TRY(auto text, to_text(machine, value));
    return format.is_markup() && !value.is_markup() ? escaped(text) : text;
}

/// The text of %d: a float is truncated.
Result<std::string> whole_number_text(const Value& value) {
    if (value.is(Type::undefined))
        return undefined_error(value);
    if (!is_number(value))
        return type_error("%d format: a real number is required, not {}", type_name(value));
    if (!value.is(Type::real))
        return integer_text(value);
    const auto whole = whole_number(value.real());
    return whole ? std::to_string(*whole) : Result<std::string>(overflow_error());
}

} // namespace

std::string string_repr(std::string_view text) {
    const bool has_single = text.find('\'') != std::string_view::npos;
    const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
    std::string out(1, quote);
    for (std::size_t position = 0; position < text.size();) {
        const Decoded decoded = decode_at(text, position);
        position += decoded.bytes;
        if (decoded.code_point == static_cast<char32_t>(quote))
            out += '\\';
        append_escaped_code_point(out, decoded.code_point);
    }
    return out + quote;
}

std::string real_text(double number) {
    if (std::isnan(number))
        return "nan";
    if (std::isinf(number))
        return number < 0 ? "-inf" : "inf";
    char buffer[64];
    const auto* end =
        std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
    const std::string_view scientific(buffer, static_cast<std::size_t>(end - buffer));
    const std::size_t mark = scientific.find('e');
    int exponent = 0;
    const char* digits = buffer + mark + (buffer[mark + 1] == '+' ? 2 : 1);
    std::from_chars(digits, end, exponent);
    if (exponent < fixed_exponent_min || exponent >= fixed_exponent_max)
        return std::string(scientific); // to_chars writes the exponent in Python's form
    const auto* fixed_end =
        std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr;
    const std::string text(buffer, static_cast<std::size_t>(fixed_end - buffer));
    return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string escaped(std::string_view text) {
    std::string out;
    constexpr std::string_view letters = "&<>'\"";
    constexpr std::string_view references[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    for (const char letter : text) {
        const std::size_t known = letters.find(letter);
        out += known == std::string_view::npos ? std::string_view(&letter, 1) : references[known];
    }
    return out;
}

Result<std::string> to_text(Machine& machine, const Value& value) {
    if (value.is(Type::string))
        return value.string();
    if (value.is(Type::undefined))
        return std::string();
    return to_repr(machine, value);
}

Result<std::string> to_repr(Machine& machine, const Value& value) {
    const DepthGuard guard(machine.levels());
    ETNA_CHECK(machine.check_recursion());
    ETNA_CHECK(machine.spend(step_work));
    switch (value.type()) {
    case Type::undefined:
        return std::string("Undefined");
    case Type::none:
        return std::string("None");
    case Type::boolean:
        return std::string(value.boolean() ? "True" : "False");
    case Type::integer:
    case Type::large:
        return integer_text(value);
    case Type::real:
        return real_text(value.real());
    case Type::string: {
        ETNA_CHECK(machine.reserve(value.string().size()));
        return value.is_markup() ? "Markup(" + string_repr(value.string()) + ")"
                                 : string_repr(value.string());
    }
    case Type::list: {
        ETNA_TRY(const auto items, joined_reprs(machine, value.sequence()->items));
        return "[" + items + "]";
    }
    case Type::tuple: {
        ETNA_TRY(const auto items, joined_reprs(machine, value.sequence()->items));
        return "(" + items + (value.sequence()->items.size() == 1 ? ",)" : ")");
    }
    case Type::dict:
        return dict_repr(machine, *value.dict());
    case Type::object:
        return type_error("a template cannot print a value of type '{}'", type_name(value));
    }
    return std::string();
}

Result<Value> percent_format(Machine& machine, const Value& format, const Value& arguments) {
    const std::vector<Value> one = {arguments};
    const auto& values = arguments.is(Type::tuple) ? arguments.sequence()->items : one;
    std::size_t used = 0;
    ETNA_TRY(auto text,
             formatted(machine, format, percent_placeholders, [&](char type) -> Result<std::string> {
                 if (used == values.size())
                     return type_error("not enough arguments for format string");
                 const Value& value = values[used++];
                 return type == 's' ? inserted_text(machine, format, value) : whole_number_text(value);
             }));
    const bool may_be_unused =
        arguments.is(Type::dict) || arguments.is(Type::list) || arguments.is(Type::undefined);
    if (used < values.size() && !may_be_unused)
        return type_error("not all arguments converted during string formatting");
    return text;
}

Result<Value> brace_format(Machine& machine, const Value& format, const Arguments& arguments) {
    std::size_t used = 0;
    return formatted(machine, format, brace_placeholders, [&](char /*end*/) -> Result<std::string> {
        if (used < arguments.positional.size())
            return inserted_text(machine, format, arguments.positional[used++]);
        return python_error("IndexError", "Replacement index {} out of range for positional args tuple",
                            used);
    });
}

std::string_view unsupported_percent(std::string_view format) {
    return first_unsupported(format, percent_placeholders);
}

std::string_view unsupported_brace(std::string_view format) {
    return first_unsupported(format, brace_placeholders);
}

} // namespace etna::jinja
