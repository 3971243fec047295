// Filters on strings and numbers.

#include "core/jinja/builtins.hpp"
#include "core/jinja/json.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

/// Returns the value itself if it is a string (markup included), else its text.
Result<Value> soft_text(Machine& machine, const Value& value) {
    if (value.is(Type::string))
        return value;
    ETNA_TRY(auto text, to_text(machine, value));
    return machine.text(std::move(text));
}

Result<Value> to_string_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return soft_text(machine, self);
}

/// A filter that converts the text's case.
template <std::string (*convert)(std::string_view)>
Result<Value> case_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const auto text, soft_text(machine, self));
    ETNA_CHECK(machine.reserve(text.string().size() * 4));
    return machine.text(convert(text.string()), text.is_markup());
}

Result<Value> title_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const auto text, soft_text(machine, self));
    ETNA_CHECK(machine.reserve(text.string().size() * 4));
    return machine.text(title_case(text.string(), is_word_break));
}

Result<Value> trim_filter(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto text, soft_text(machine, self));
    const Value characters = arguments.at(0) != nullptr ? *arguments.at(0) : Value(None{});
    return call_native(machine, *find_native(string_methods(), "strip"), text, {.positional = {characters}});
}

Result<Value> escape_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (self.is_markup())
        return self;
    ETNA_TRY(const auto text, to_text(machine, self));
    ETNA_CHECK(machine.reserve(text.size() * 6));
    return machine.text(escaped(text), true);
}

Result<Value> safe_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(auto text, to_text(machine, self));
    return machine.text(std::move(text), true);
}

Result<Value> replace_filter(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto text, to_text(machine, self));
    ETNA_TRY(auto self_text, machine.text(text));
    Arguments texts;
    for (const std::size_t index : {0, 1}) {
        ETNA_TRY(auto part, to_text(machine, *arguments.at(index)));
        texts.positional.emplace_back(std::move(part));
    }
    const Value* count = arguments.not_none(2);
    texts.positional.push_back(count != nullptr ? *count : Value(int64_t{-1}));
    return call_native(machine, *find_native(string_methods(), "replace"), self_text, std::move(texts));
}

Result<Value> format_filter(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto text, soft_text(machine, self));
    if (!arguments.all.keyword.empty())
        return value_error("the filter format takes no keyword arguments");
    ETNA_TRY(const auto values, machine.tuple(arguments.all.positional));
    return percent_format(machine, text, values);
}

/// Returns the text of an indentation: a string, or a number of spaces.
Result<std::string> indentation(Machine& machine, const Value* width) {
    if (width != nullptr && width->is(Type::string))
        return width->string();
    ETNA_TRY(const int64_t spaces, integer_argument(width, 4));
    const auto count = static_cast<std::size_t>(std::max<int64_t>(spaces, 0));
    ETNA_CHECK(machine.room_for(count));
    ETNA_CHECK(machine.spend(count));
    return std::string(count, ' ');
}

Result<Value> indent_filter(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto prefix, indentation(machine, arguments.at(0)));
    ETNA_TRY(const bool first, flag(machine, arguments.at(1), false));
    ETNA_TRY(const bool blank, flag(machine, arguments.at(2), false));
    if (self.is(Type::undefined))
        return undefined_error(self);
    if (!self.is(Type::string))
        return type_error("unsupported operand type(s) for +=: '{}' and 'str'", type_name(self));
    const auto lines = split_lines(self.string() + "\n");
    std::string out = first ? prefix : "";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool is_indented = i > 0 && (blank || !lines[i].empty());
        ETNA_CHECK(machine.grow(out.size(), prefix.size() + lines[i].size()));
        out += i > 0 ? "\n" : "";
        out += is_indented ? prefix : "";
        out += lines[i];
    }
    return machine.text(std::move(out), self.is_markup());
}

/// json.dumps() as called by transformers: non-ASCII characters are not escaped, keys are not sorted.
Result<Value> tojson_filter(Machine& machine, const Value& self, const Bound& arguments) {
    JsonStyle style;
    ETNA_TRY(style.ascii_only, flag(machine, arguments.at(0), false));
    if (const Value* indent = arguments.not_none(1)) {
        ETNA_TRY(style.indent, indentation(machine, indent));
        style.item_separator = ",";
    }
    if (const Value* separators = arguments.not_none(2)) {
        ETNA_TRY(const auto parts, items_of(machine, *separators));
        if (parts.size() != 2)
            return value_error("not enough values to unpack (expected 2, got {})", parts.size());
        ETNA_TRY(style.item_separator, string_argument(parts[0], "separator"));
        ETNA_TRY(style.key_separator, string_argument(parts[1], "separator"));
    }
    ETNA_TRY(style.sort_keys, flag(machine, arguments.at(3), false));
    ETNA_TRY(auto text, to_json(machine, self, style));
    return machine.text(std::move(text));
}

Result<Value> from_json_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (!self.is(Type::string))
        return type_error("the JSON object must be str, bytes or bytearray, not {}", type_name(self));
    ETNA_CHECK(machine.reserve(self.string().size() * 8));
    auto value = from_json(self.string(), machine.limits().value_depth);
    if (!value)
        return python_error("JSONDecodeError", "{}", value.error().message);
    return machine.adopt(*value);
}

Result<Value> int_filter(Machine& machine, const Value& self, const Bound& arguments) {
    if (self.is(Type::undefined))
        return undefined_error(self);
    if (is_number(self) && !self.is(Type::real))
        return negated(self, Operator::plus);
    std::optional<double> real;
    if (self.is(Type::string)) {
        ETNA_CHECK(machine.spend(self.string().size()));
        if (auto number = parse_integer(self.string()))
            return number->is(Type::large) ? Result<Value>(overflow_error()) : std::move(*number);
        real = parse_real(self.string());
    } else if (self.is(Type::real)) {
        real = self.real();
    }
    if (!real || std::isnan(*real))
        return arguments.at(0) != nullptr ? *arguments.at(0) : Value(int64_t{0});
    const auto whole = whole_number(*real);
    return whole ? Value(*whole) : Result<Value>(overflow_error());
}

Result<Value> float_filter(Machine& /*machine*/, const Value& self, const Bound& arguments) {
    if (self.is(Type::undefined))
        return undefined_error(self);
    if (self.is(Type::large))
        return overflow_error();
    const auto number = self.is(Type::string) ? parse_real(self.string())
                        : is_number(self)     ? std::optional(real_of(self))
                                              : std::nullopt;
    if (number)
        return Value(*number);
    return arguments.at(0) != nullptr ? *arguments.at(0) : Value(0.0);
}

constexpr Native text_filters_table[] = {
    {"capitalize", "", 0, case_filter<capital_case>},
    {"e", "", 0, escape_filter},
    {"escape", "", 0, escape_filter},
    {"float", "default", 0, float_filter},
    {"format", "*", 0, format_filter},
    {"from_json", "", 0, from_json_filter},
    {"fromjson", "", 0, from_json_filter},
    {"indent", "width first blank", 0, indent_filter},
    {"int", "default", 0, int_filter},
    {"lower", "", 0, case_filter<lower_case>},
    {"replace", "old new count", 2, replace_filter},
    {"safe", "", 0, safe_filter},
    {"string", "", 0, to_string_filter},
    {"title", "", 0, title_filter},
    {"tojson", "ensure_ascii indent separators sort_keys", 0, tojson_filter},
    {"trim", "chars", 0, trim_filter},
    {"upper", "", 0, case_filter<upper_case>},
};

} // namespace

std::span<const Native> text_filters() {
    return text_filters_table;
}

} // namespace etna::jinja
