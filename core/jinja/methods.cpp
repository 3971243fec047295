// Methods of str, list and dict.

#include "core/jinja/builtins.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>

namespace etna::jinja {
namespace {

constexpr std::size_t grown_entry_bytes = sizeof(Dict::Entry) + 48;

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
    ETNA_CHECK(machine.room_for(self.string().size()));
    ETNA_CHECK(machine.spend(self.string().size() * search_work));
    std::vector<Value> items;
    for (std::string& part : split(self.string(), separator, splits_max)) {
        ETNA_TRY(auto item, like(machine, self, std::move(part)));
        items.push_back(std::move(item));
    }
    return machine.list(std::move(items));
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
        const std::string_view text = self.string();
        if (part.size() <= text.size() &&
            text.substr(end == End::front ? 0 : text.size() - part.size(), part.size()) == part)
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
    {"replace", "/old new count", 2, str_replace},
    {"rstrip", "/chars", 0, str_strip<Side::right>},
    {"split", "sep maxsplit", 0, str_split},
    {"startswith", "/prefix", 1, str_has_affix<End::front>},
    {"strip", "/chars", 0, str_strip<Side::both>},
    {"title", "", 0, str_title},
    {"upper", "", 0, str_converted<upper_case>},
};

/// Prepares a list or dict for `bytes` more with `item`: checks the limits of memory and depth.
template <class Container>
Status admit(Machine& machine, const std::shared_ptr<Container>& container, const Value& item,
             std::size_t bytes) {
    ETNA_CHECK(machine.check_depth(item.depth() + 1));
    ETNA_CHECK(machine.reserve(bytes));
    ETNA_CHECK(machine.keep(container));
    container->depth = std::max(container->depth, item.depth() + 1);
    container->charge.grow(bytes);
    return {};
}

Result<Value> list_append(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_CHECK(admit(machine, self.sequence(), *arguments.at(0), sizeof(Value)));
    self.sequence()->items.push_back(*arguments.at(0));
    return Value(None{});
}

Result<Value> list_extend(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto items, items_of(machine, *arguments.at(0)));
    for (const Value& item : items) {
        ETNA_CHECK(admit(machine, self.sequence(), item, sizeof(Value)));
        self.sequence()->items.push_back(item);
    }
    return Value(None{});
}

Result<Value> list_pop(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(int64_t index, integer_argument(arguments.at(0), -1));
    auto& items = self.sequence()->items;
    const auto size = static_cast<int64_t>(items.size());
    index += index < 0 ? size : 0;
    if (index < 0 || index >= size)
        return python_error("IndexError", "{}", size == 0 ? "pop from empty list" : "pop index out of range");
    ETNA_CHECK(machine.keep(self.sequence()));
    ETNA_CHECK(machine.spend(items.size()));
    Value taken = items[static_cast<std::size_t>(index)];
    items.erase(items.begin() + index);
    return taken;
}

Result<Value> dict_get(Machine& /*machine*/, const Value& self, const Bound& arguments) {
    ETNA_CHECK(check_hashable(*arguments.at(0)));
    if (const Value* found = self.dict()->find(*arguments.at(0)))
        return *found;
    return arguments.at(1) != nullptr ? *arguments.at(1) : Value(None{});
}

template <View view>
Result<Value> dict_view(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return make_view(machine, self, view);
}

Result<Value> dict_copy(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return machine.dict(self.dict()->entries);
}

Result<Value> dict_pop(Machine& machine, const Value& self, const Bound& arguments) {
    const Value& key = *arguments.at(0);
    ETNA_CHECK(check_hashable(key));
    const auto position = self.dict()->position(key);
    if (!position && arguments.at(1) != nullptr)
        return *arguments.at(1);
    if (!position) {
        ETNA_TRY(const auto name, to_repr(machine, key));
        return python_error("KeyError", "{}", name);
    }
    ETNA_CHECK(machine.keep(self.dict()));
    ETNA_CHECK(machine.spend(self.dict()->entries.size() * grown_entry_bytes));
    Value taken = self.dict()->entries[*position].value;
    self.dict()->erase(*position);
    return taken;
}

/// Adds the entries of a mapping or of pairs, then the keyword arguments.
Result<Value> dict_update(Machine& machine, const Value& self, const Bound& arguments) {
    const auto& [given, keywords] = arguments.all;
    if (given.size() > 1)
        return type_error("update expected at most 1 argument, got {}", given.size());
    std::vector<Value> pairs;
    if (!given.empty() && given[0].is(Type::undefined))
        return undefined_error(given[0]);
    if (!given.empty()) {
        ETNA_TRY(pairs, given[0].is(Type::dict) ? pairs_of(machine, given[0]) : items_of(machine, given[0]));
    }
    for (const auto& [name, value] : keywords) {
        ETNA_TRY(auto pair, machine.tuple({Value(name), value}));
        pairs.push_back(std::move(pair));
    }
    for (const Value& pair : pairs) {
        ETNA_TRY(const auto parts, items_of(machine, pair));
        if (parts.size() != 2)
            return value_error("dictionary update sequence elements must have length 2");
        ETNA_CHECK(check_hashable(parts[0]));
        ETNA_CHECK(admit(machine, self.dict(), parts[0], 0));
        ETNA_CHECK(admit(machine, self.dict(), parts[1], grown_entry_bytes));
        self.dict()->set(parts[0], parts[1]);
    }
    return Value(None{});
}

constexpr Native list_methods_table[] = {{"append", "/object", 1, list_append},
                                         {"extend", "/iterable", 1, list_extend},
                                         {"pop", "/index", 0, list_pop}};

constexpr Native dict_methods_table[] = {{"copy", "", 0, dict_copy},
                                         {"get", "/key default", 1, dict_get},
                                         {"items", "", 0, dict_view<View::items>},
                                         {"keys", "", 0, dict_view<View::keys>},
                                         {"pop", "/key default", 1, dict_pop},
                                         {"update", "*", 0, dict_update},
                                         {"values", "", 0, dict_view<View::values>}};

} // namespace

std::span<const Native> string_methods() {
    return string_methods_table;
}

std::span<const Native> list_methods() {
    return list_methods_table;
}

std::span<const Native> dict_methods() {
    return dict_methods_table;
}

} // namespace etna::jinja
