// Filters that return strings.

#include "core/jinja/errors.hpp"
#include "core/jinja/filters.hpp"
#include "core/jinja/from_json.hpp"
#include "core/jinja/json.hpp"
#include "core/jinja/methods.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/percent_format.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/text.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

Result<Value> plain_text(Machine& machine, const Value& value) {
    ETNA_TRY(auto text, to_text(machine, value));
    return machine.text(std::move(text));
}

/// Returns the value itself if it is a string (markup included), else its text.
Result<Value> soft_text(Machine& machine, const Value& value) {
    return value.is(Type::string) ? Result<Value>(value) : plain_text(machine, value);
}

/// Calls the string method of the same name.
Result<Value> by_method(Machine& machine, const Value& self, std::string_view method,
                        std::vector<Value> arguments = {}) {
    ETNA_TRY(const auto text, soft_text(machine, self));
    return call_native(machine, *find_native(string_methods(), method), text, {std::move(arguments), {}});
}

Result<Value> upper(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return by_method(machine, self, "upper");
}

Result<Value> lower(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return by_method(machine, self, "lower");
}

Result<Value> capitalize(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return by_method(machine, self, "capitalize");
}

Result<Value> title(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const auto text, soft_text(machine, self));
    ETNA_CHECK(machine.reserve(text.string().size() * 4));
    return machine.text(titled_words(text.string()));
}

Result<Value> trim(Machine& machine, const Value& self, const Bound& arguments) {
    return by_method(machine, self, "strip", {arguments.at(0) != nullptr ? *arguments.at(0) : Value(None{})});
}

Result<Value> center(Machine& machine, const Value& self, const Bound& arguments) {
    return by_method(machine, self, "center",
                     {arguments.at(0) != nullptr ? *arguments.at(0) : Value(int64_t{80})});
}

Result<Value> escape(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (self.is_markup())
        return self;
    ETNA_TRY(const auto text, to_text(machine, self));
    ETNA_CHECK(machine.reserve(text.size() * 6));
    return machine.text(escaped(text), true);
}

Result<Value> replace(Machine& machine, const Value& self, const Bound& arguments) {
    const auto text_of = [&](const Value& value) {
        return machine.escapes() ? soft_text(machine, value) : plain_text(machine, value);
    };
    ETNA_TRY(auto text, text_of(self));
    ETNA_TRY(const auto old_part, text_of(*arguments.at(0)));
    ETNA_TRY(const auto new_part, text_of(*arguments.at(1)));
    if (!text.is_markup() && (old_part.is_markup() || new_part.is_markup())) {
        ETNA_TRY(text, escape(machine, text, {}));
    }
    const Value* count = arguments.at(2);
    const bool is_counted = count != nullptr && !count->is(Type::none);
    ETNA_TRY(const auto method, bound_method(machine, text, *find_native(string_methods(), "replace")));
    return call(
        machine, method,
        {.positional = {old_part, new_part, is_counted ? *count : Value(int64_t{-1})}, .keyword = {}});
}

Result<Value> string(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return soft_text(machine, self);
}

Result<Value> safe(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(auto text, to_text(machine, self));
    return machine.text(std::move(text), true);
}

Result<Value> force_escape(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const auto text, to_text(machine, self));
    ETNA_CHECK(machine.reserve(text.size() * 6));
    return machine.text(escaped(text), true);
}

Result<Value> format(Machine& machine, const Value& self, const Bound& arguments) {
    if (!arguments.all.positional.empty() && !arguments.all.keyword.empty()) {
        return python_error("FilterArgumentError",
                            "can't handle positional and keyword arguments at the same time");
    }
    ETNA_TRY(const auto text, soft_text(machine, self));
    if (arguments.all.keyword.empty()) {
        ETNA_TRY(const auto values, machine.tuple(arguments.all.positional));
        return percent_format(machine, text, values);
    }
    std::vector<Dict::Entry> entries;
    entries.reserve(arguments.all.keyword.size());
    for (const auto& [name, value] : arguments.all.keyword)
        entries.push_back({Value(name), value});
    ETNA_TRY(const auto values, machine.dict(std::move(entries)));
    return percent_format(machine, text, values);
}

Result<std::string> indentation(Machine& machine, const Value* width) {
    if (width != nullptr && width->is(Type::string))
        return width->string();
    int64_t spaces = 4;
    if (width != nullptr) {
        ETNA_TRY(spaces, integer_argument(*width));
    }
    spaces = std::max<int64_t>(spaces, 0);
    if (static_cast<uint64_t>(spaces) > machine.limits().live_bytes)
        return machine.room_for(machine.limits().live_bytes + 1).error();
    ETNA_CHECK(machine.reserve(static_cast<std::size_t>(spaces)));
    return std::string(static_cast<std::size_t>(spaces), ' ');
}

Result<Value> indent(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto prefix, indentation(machine, arguments.at(0)));
    ETNA_TRY(const bool first, flag(machine, arguments.at(1), false));
    ETNA_TRY(const bool blank, flag(machine, arguments.at(2), false));
    if (!self.is(Type::string)) {
        if (self.is(Type::undefined))
            return undefined_error(self);
        if (self.is(Type::list))
            return python_error("AttributeError", "'list' object has no attribute 'splitlines'");
        return type_error(fmt::format("unsupported operand type(s) for +=: '{}' and 'str'", type_name(self)));
    }
    const auto lines = split_lines(self.string() + "\n", LineEnds::dropped);
    std::string out = first ? prefix : "";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool is_indented = i > 0 && (blank || !lines[i].empty());
        ETNA_CHECK(machine.spend(prefix.size() + lines[i].size()));
        ETNA_CHECK(machine.room_for(out.size() + prefix.size() + lines[i].size()));
        out += i > 0 ? "\n" : "";
        out += is_indented ? prefix : "";
        out += lines[i];
    }
    return machine.text(std::move(out), self.is_markup());
}

Result<Value> truncate(Machine& machine, const Value& self, const Bound& arguments) {
    int64_t length = 255;
    int64_t leeway = 5;
    std::string end = "...";
    if (const Value* given = arguments.at(0)) {
        ETNA_TRY(length, integer_argument(*given));
    }
    ETNA_TRY(const bool kills_words, flag(machine, arguments.at(1), false));
    if (const Value* given = arguments.at(2)) {
        ETNA_TRY(end, string_argument(*given, "truncate"));
    }
    if (const Value* given = arguments.at(3); given != nullptr && !given->is(Type::none)) {
        ETNA_TRY(leeway, integer_argument(*given));
    }
    const auto end_length = static_cast<int64_t>(count_code_points(end));
    if (length < end_length) {
        return python_error("AssertionError",
                            fmt::format("expected length >= {}, got {}", end_length, length));
    }
    if (leeway < 0)
        return python_error("AssertionError", fmt::format("expected leeway >= 0, got {}", leeway));
    ETNA_TRY(const std::size_t size, length_of(machine, self));
    if (static_cast<int64_t>(size) <= length || static_cast<int64_t>(size) - length <= leeway)
        return self;
    ETNA_TRY(const auto text, string_argument(self, "truncate"));
    ETNA_CHECK(machine.reserve(text.size() * 4));
    std::string kept = encode(decode(text).substr(0, static_cast<std::size_t>(length - end_length)));
    if (!kills_words)
        kept = split_from_right(kept, " ", 1).front();
    return machine.text(kept + end, self.is_markup());
}

/// json.dumps() as called by transformers: non-ASCII characters are not escaped, keys are not sorted.
Result<Value> tojson(Machine& machine, const Value& self, const Bound& arguments) {
    JsonStyle style;
    ETNA_TRY(style.ascii_only, flag(machine, arguments.at(0), false));
    if (const Value* indent = arguments.at(1); indent != nullptr && !indent->is(Type::none)) {
        if (indent->is(Type::string)) {
            style.indent = indent->string();
        } else {
            ETNA_TRY(style.indent, indentation(machine, indent));
        }
        style.item_separator = ",";
    }
    if (const Value* separators = arguments.at(2); separators != nullptr && !separators->is(Type::none)) {
        ETNA_TRY(const auto parts, items_of(machine, *separators));
        if (parts.size() != 2)
            return value_error(fmt::format("not enough values to unpack (expected 2, got {})", parts.size()));
        ETNA_TRY(style.item_separator, string_argument(parts[0], "separator"));
        ETNA_TRY(style.key_separator, string_argument(parts[1], "separator"));
    }
    ETNA_TRY(style.sort_keys, flag(machine, arguments.at(3), false));
    ETNA_TRY(auto text, to_json(machine, self, style));
    return machine.text(std::move(text));
}

Result<Value> parsed_json(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (!self.is(Type::string)) {
        return type_error(
            fmt::format("the JSON object must be str, bytes or bytearray, not {}", type_name(self)));
    }
    ETNA_CHECK(machine.reserve(self.string().size() * 8));
    auto value = from_json(self.string(), machine.limits().value_depth);
    if (!value)
        return python_error("JSONDecodeError", value.error().message);
    return machine.adopt(*value);
}

/// Removes tags and comments and collapses white space to single spaces.
Result<Value> striptags(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(auto text, to_text(machine, self));
    ETNA_CHECK(machine.reserve(text.size() * 2));
    const auto without = [&](std::string_view begin, std::string_view end) {
        std::string out;
        std::size_t position = 0;
        while (true) {
            const std::size_t first = text.find(begin, position);
            const std::size_t last = first == std::string::npos ? first : text.find(end, first);
            if (last == std::string::npos)
                break;
            out.append(text, position, first - position);
            position = last + end.size();
        }
        text = out.append(text, position);
    };
    without("<!--", "-->");
    without("<", ">");
    std::string out;
    for (const std::string& word : split(text, {}, -1))
        out.append(out.empty() ? "" : " ").append(word);
    const std::pair<std::string_view, std::string_view> references[] = {
        {"&lt;", "<"}, {"&gt;", ">"}, {"&#39;", "'"}, {"&#34;", "\""}, {"&quot;", "\""}, {"&amp;", "&"}};
    for (const auto& [reference, letter] : references)
        out = replaced(out, reference, letter, -1);
    return machine.text(std::move(out));
}

Result<Value> xmlattr(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const bool with_space, flag(machine, arguments.at(0), true));
    if (!self.is(Type::dict)) {
        return python_error("AttributeError",
                            fmt::format("'{}' object has no attribute 'items'", type_name(self)));
    }
    std::string out;
    for (const Dict::Entry& entry : self.dict()->entries) {
        if (entry.value.is(Type::none) || entry.value.is(Type::undefined))
            continue;
        ETNA_TRY(const auto key, to_text(machine, entry.key));
        ETNA_TRY(const auto value, to_text(machine, entry.value));
        if (key.find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
            return value_error("Invalid character in attribute name: " + quoted(key));
        ETNA_CHECK(machine.reserve((key.size() + value.size()) * 6));
        out += out.empty() && !with_space ? "" : " ";
        out.append(escaped(key)).append("=\"").append(entry.value.is_markup() ? value : escaped(value));
        out += '"';
        ETNA_CHECK(machine.room_for(out.size()));
    }
    return machine.text(std::move(out), machine.escapes());
}

constexpr Native filters_text_table[] = {
    {"capitalize", "", 0, capitalize},
    {"center", "width", 0, center},
    {"e", "", 0, escape},
    {"escape", "", 0, escape},
    {"forceescape", "", 0, force_escape},
    {"format", "*", 0, format},
    {"from_json", "", 0, parsed_json},
    {"fromjson", "", 0, parsed_json},
    {"indent", "width first blank", 0, indent},
    {"lower", "", 0, lower},
    {"replace", "old new count", 2, replace},
    {"safe", "", 0, safe},
    {"string", "", 0, string},
    {"striptags", "", 0, striptags},
    {"title", "", 0, title},
    {"tojson", "ensure_ascii indent separators sort_keys", 0, tojson},
    {"trim", "chars", 0, trim},
    {"truncate", "length killwords end leeway", 0, truncate},
    {"upper", "", 0, upper},
    {"xmlattr", "autospace", 0, xmlattr},
};

} // namespace

std::span<const Native> text_filters() {
    return filters_text_table;
}

} // namespace etna::jinja
