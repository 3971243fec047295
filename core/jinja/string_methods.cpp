// Methods of str.

#include "core/jinja/builtins.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

/// Returns a string derived from `self`: markup if `self` is.
Result<Value> like(Machine& machine, const Value& self, std::string text) {
    return machine.text(std::move(text), self.is_markup());
}

template <std::string (*convert)(std::string_view)>
Result<Value> str_converted(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_CHECK(machine.reserve(self.string().size() * 4));
    return like(machine, self, convert(self.string()));
}

Result<Value> str_title(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_CHECK(machine.reserve(self.string().size() * 4));
    return like(machine, self, title_case(self.string(), is_no_letter));
}

template <Side side>
Result<Value> str_strip(Machine& machine, const Value& self, const Bound& arguments) {
    std::optional<std::string_view> characters;
    if (const Value* given = arguments.not_none(0)) {
        if (!given->is(Type::string))
            return type_error("strip arg must be None or str");
        characters = given->string();
    }
    return like(machine, self, std::string(stripped(self.string(), characters, side)));
}

Result<Value> string_list(Machine& machine, const Value& self, std::vector<std::string> parts) {
    std::vector<Value> items;
    items.reserve(parts.size());
    for (std::string& part : parts) {
        ETNA_TRY(auto item, like(machine, self, std::move(part)));
        items.push_back(std::move(item));
    }
    return machine.list(std::move(items));
}

template <std::vector<std::string> (*divide)(std::string_view, std::optional<std::string_view>, int64_t)>
Result<Value> str_split(Machine& machine, const Value& self, const Bound& arguments) {
    std::optional<std::string_view> separator;
    if (const Value* given = arguments.not_none(0)) {
        if (!given->is(Type::string))
            return type_error("must be str or None, not {}", type_name(*given));
        if (given->string().empty())
            return value_error("empty separator");
        separator = given->string();
    }
    ETNA_TRY(const int64_t splits_max, integer_argument(arguments.at(1), -1));
    const std::size_t effort = separator ? separator->size() + 1 : 1; // rsplit compares at every offset
    ETNA_CHECK(machine.room_for(self.string().size()));
    ETNA_CHECK(machine.spend(static_cast<uint64_t>(self.string().size()) * effort));
    return string_list(machine, self, divide(self.string(), separator, splits_max));
}

Result<Value> str_splitlines(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const bool with_ends, flag(machine, arguments.at(0), false));
    return string_list(machine, self,
                       split_lines(self.string(), with_ends ? LineEnds::included : LineEnds::dropped));
}

Result<Value> str_replace(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const std::string from, string_argument(*arguments.at(0), "replace"));
    ETNA_TRY(std::string to, string_argument(*arguments.at(1), "replace"));
    ETNA_TRY(const int64_t count, integer_argument(arguments.at(2), -1));
    if (self.is_markup() && !arguments.at(1)->is_markup())
        to = escaped(to);
    ETNA_CHECK(machine.reserve(replaced_bytes(self.string(), from, to, count)));
    return like(machine, self, replaced(self.string(), from, to, count));
}

Result<Value> str_join(Machine& machine, const Value& self, const Bound& arguments) {
    if (!is_iterable(*arguments.at(0)))
        return type_error("can only join an iterable");
    ETNA_TRY(const auto items, items_of(machine, *arguments.at(0)));
    std::string out;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!items[i].is(Type::string) && !self.is_markup())
            return type_error("sequence item {}: expected str instance, {} found", i, type_name(items[i]));
        ETNA_TRY(const auto part, to_text(machine, items[i]));
        ETNA_CHECK(machine.grow(out.size(), part.size() + self.string().size()));
        out += i == 0 ? "" : self.string();
        out += self.is_markup() && !items[i].is_markup() ? escaped(part) : part;
    }
    return like(machine, self, std::move(out));
}

enum class End : uint8_t { front, back };

bool has_affix(std::string_view text, std::string_view part, End end) {
    return part.size() <= text.size() &&
           text.substr(end == End::front ? 0 : text.size() - part.size(), part.size()) == part;
}

template <End end>
Result<Value> str_remove(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto part, string_argument(*arguments.at(0), "removeprefix"));
    const std::string& text = self.string();
    if (!has_affix(text, part, end))
        return self;
    return like(machine, self, text.substr(end == End::front ? part.size() : 0, text.size() - part.size()));
}

template <End end>
Result<Value> str_has_affix(Machine& machine, const Value& self, const Bound& arguments) {
    const Value& given = *arguments.at(0);
    if (!given.is(Type::tuple) && !given.is(Type::string)) {
        return type_error("{} first arg must be str or a tuple of str, not {}",
                          end == End::front ? "startswith" : "endswith", type_name(given));
    }
    for (const Value& each : given.is(Type::tuple) ? given.sequence()->items : std::vector<Value>{given}) {
        ETNA_TRY(const std::string part, string_argument(each, "startswith"));
        ETNA_CHECK(machine.spend(part.size()));
        if (has_affix(self.string(), part, end))
            return Value(true);
    }
    return Value(false);
}

Result<Value> str_find(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const std::string part, string_argument(*arguments.at(0), "find"));
    ETNA_CHECK(machine.spend(self.string().size() * search_work));
    const std::size_t at = find_in(self.string(), part);
    if (at == std::string::npos)
        return Value(int64_t{-1});
    return Value(static_cast<int64_t>(count_code_points(std::string_view(self.string()).substr(0, at))));
}

Result<Value> str_format(Machine& machine, const Value& self, const Bound& arguments) {
    return brace_format(machine, self, arguments.all);
}

constexpr Native string_methods_table[] = {
    {"capitalize", "", 0, str_converted<capital_case>},
    {"endswith", "/suffix", 1, str_has_affix<End::back>},
    {"find", "/sub", 1, str_find},
    {"format", "*", 0, str_format},
    {"join", "/iterable", 1, str_join},
    {"lower", "", 0, str_converted<lower_case>},
    {"lstrip", "/chars", 0, str_strip<Side::left>},
    {"removeprefix", "/prefix", 1, str_remove<End::front>},
    {"removesuffix", "/suffix", 1, str_remove<End::back>},
    {"replace", "/old new count", 2, str_replace},
    {"rsplit", "sep maxsplit", 0, str_split<split_from_right>},
    {"rstrip", "/chars", 0, str_strip<Side::right>},
    {"split", "sep maxsplit", 0, str_split<split>},
    {"splitlines", "keepends", 0, str_splitlines},
    {"startswith", "/prefix", 1, str_has_affix<End::front>},
    {"strip", "/chars", 0, str_strip<Side::both>},
    {"title", "", 0, str_title},
    {"upper", "", 0, str_converted<upper_case>},
};

} // namespace

std::span<const Native> string_methods() {
    return string_methods_table;
}

} // namespace etna::jinja
