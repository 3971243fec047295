#include "core/jinja/print.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/unicode.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr int fixed_exponent_min = -4; ///< outside this range Python prints an exponent
constexpr int fixed_exponent_max = 16;

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

void append_number_escape(std::string& out, char32_t code_point) {
    const auto number = static_cast<uint32_t>(code_point);
    out += number < 0x100     ? fmt::format("\\x{:02x}", number)
           : number < 0x10000 ? fmt::format("\\u{:04x}", number)
                              : fmt::format("\\U{:08x}", number);
}

void append_escaped_code_point(std::string& out, char32_t code_point) {
    switch (code_point) {
    case '\n':
        out += "\\n";
        return;
    case '\r':
        out += "\\r";
        return;
    case '\t':
        out += "\\t";
        return;
    case '\\':
        out += "\\\\";
        return;
    default:
        break;
    }
    if (has(code_point, Property::printable)) {
        append_utf8(out, code_point);
    } else {
        append_number_escape(out, code_point);
    }
}

} // namespace

std::string quoted(std::string_view text) {
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

std::string ascii_only(std::string_view text) {
    std::string out;
    for (std::size_t position = 0; position < text.size();) {
        const Decoded decoded = decode_at(text, position);
        position += decoded.bytes;
        if (decoded.code_point < 0x80) {
            out += static_cast<char>(decoded.code_point);
        } else {
            append_number_escape(out, decoded.code_point);
        }
    }
    return out;
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
    for (const char letter : text) {
        switch (letter) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '\'':
            out += "&#39;";
            break;
        case '"':
            out += "&#34;";
            break;
        default:
            out += letter;
        }
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
    const Machine::Level level(machine);
    ETNA_CHECK(level.check());
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
        return value.is_markup() ? "Markup(" + quoted(value.string()) + ")" : quoted(value.string());
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
        return value.object()->repr(machine);
    }
    return std::string();
}

} // namespace etna::jinja
