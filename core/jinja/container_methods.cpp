// Methods of list, tuple and dict.

#include "core/jinja/errors.hpp"
#include "core/jinja/methods.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/sequences.hpp"
#include "core/jinja/sorting.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr std::size_t grown_entry_bytes = sizeof(Dict::Entry) + 48;

/// Checks that `item` may be added to `list` or `dict`: memory and depth limits.
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

// Also count() and index() of ranges.

Result<Value> count(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto cursor, iterate(machine, self));
    int64_t found = 0;
    while (true) {
        ETNA_TRY(const auto item, cursor->next(machine));
        if (!item)
            return Value(found);
        ETNA_TRY(const bool same, equal(machine, *item, *arguments.at(0)));
        found += same ? 1 : 0;
    }
}

Result<Value> index(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto cursor, iterate(machine, self));
    for (int64_t place = 0;; ++place) {
        ETNA_TRY(const auto item, cursor->next(machine));
        if (!item)
            break;
        ETNA_TRY(const bool same, equal(machine, *item, *arguments.at(0)));
        if (same)
            return Value(place);
    }
    ETNA_TRY(const auto wanted, to_repr(machine, *arguments.at(0)));
    if (self.is(Type::object))
        return value_error(wanted + " is not in range");
    return value_error(self.is(Type::tuple) ? "tuple.index(x): x not in tuple" : wanted + " is not in list");
}

Result<Value> copy_list(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return machine.list(self.sequence()->items);
}

Result<Value> append(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_CHECK(admit(machine, self.sequence(), *arguments.at(0), sizeof(Value)));
    self.sequence()->items.push_back(*arguments.at(0));
    return Value(None{});
}

Result<Value> extend(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto items, items_of(machine, *arguments.at(0)));
    for (const Value& item : items) {
        ETNA_CHECK(admit(machine, self.sequence(), item, sizeof(Value)));
        self.sequence()->items.push_back(item);
    }
    return Value(None{});
}

Result<Value> insert(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const int64_t given, integer_argument(*arguments.at(0)));
    ETNA_CHECK(admit(machine, self.sequence(), *arguments.at(1), sizeof(Value)));
    auto& items = self.sequence()->items;
    ETNA_CHECK(machine.spend(items.size()));
    const auto size = static_cast<int64_t>(items.size());
    const int64_t place = std::clamp<int64_t>(given < 0 ? given + size : given, 0, size);
    items.insert(items.begin() + place, *arguments.at(1));
    return Value(None{});
}

Result<Value> pop(Machine& machine, const Value& self, const Bound& arguments) {
    int64_t place = -1;
    if (const Value* given = arguments.at(0)) {
        ETNA_TRY(place, integer_argument(*given));
    }
    auto& items = self.sequence()->items;
    const auto size = static_cast<int64_t>(items.size());
    place += place < 0 ? size : 0;
    if (place < 0 || place >= size)
        return python_error("IndexError", size == 0 ? "pop from empty list" : "pop index out of range");
    ETNA_CHECK(machine.keep(self.sequence()));
    ETNA_CHECK(machine.spend(items.size()));
    Value taken = items[static_cast<std::size_t>(place)];
    items.erase(items.begin() + place);
    return taken;
}

Result<Value> remove(Machine& machine, const Value& self, const Bound& arguments) {
    auto& items = self.sequence()->items;
    for (std::size_t place = 0; place < items.size(); ++place) {
        ETNA_TRY(const bool same, equal(machine, items[place], *arguments.at(0)));
        if (!same)
            continue;
        ETNA_CHECK(machine.keep(self.sequence()));
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(place));
        return Value(None{});
    }
    return value_error("list.remove(x): x not in list");
}

Result<Value> clear_list(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_CHECK(machine.keep(self.sequence()));
    self.sequence()->items.clear();
    return Value(None{});
}

Result<Value> reverse(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_CHECK(machine.keep(self.sequence()));
    std::reverse(self.sequence()->items.begin(), self.sequence()->items.end());
    return Value(None{});
}

Result<Value> sort(Machine& machine, const Value& self, const Bound& arguments) {
    bool is_reversed = false;
    if (const Value* given = arguments.at(0)) {
        ETNA_TRY(is_reversed, is_true(machine, *given));
    }
    ETNA_CHECK(machine.keep(self.sequence()));
    auto& items = self.sequence()->items;
    const std::vector<Value> before = items;
    ETNA_TRY(const auto places,
             sorted_places(machine, before, is_reversed ? SortOrder::descending : SortOrder::ascending));
    for (std::size_t i = 0; i < places.size(); ++i)
        items[i] = before[places[i]];
    return Value(None{});
}

Status require_hashable(const Value& key) {
    if (is_hashable(key))
        return {};
    return type_error(fmt::format("unhashable type: '{}'", type_name(key)));
}

Result<Value> get(Machine& /*machine*/, const Value& self, const Bound& arguments) {
    ETNA_CHECK(require_hashable(*arguments.at(0)));
    if (const Value* found = self.dict()->find(*arguments.at(0)))
        return *found;
    return arguments.at(1) != nullptr ? *arguments.at(1) : Value(None{});
}

template <View view>
Result<Value> viewed(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return make_view(machine, self, view);
}

Result<Value> copy_dict(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return machine.dict(self.dict()->entries);
}

Status set_entry(Machine& machine, const Value& self, const Value& key, const Value& value) {
    ETNA_CHECK(require_hashable(key));
    ETNA_CHECK(admit(machine, self.dict(), key, 0));
    ETNA_CHECK(admit(machine, self.dict(), value, grown_entry_bytes));
    self.dict()->set(key, value);
    return {};
}

Result<Value> update(Machine& machine, const Value& self, const Bound& arguments) {
    Arguments all = arguments.all;
    if (all.positional.size() > 1)
        return type_error(fmt::format("update expected at most 1 argument, got {}", all.positional.size()));
    if (!all.positional.empty()) {
        const Value& given = all.positional[0];
        if (given.is(Type::dict)) {
            const auto entries = given.dict()->entries;
            for (const Dict::Entry& entry : entries)
                ETNA_CHECK(set_entry(machine, self, entry.key, entry.value));
        } else {
            ETNA_TRY(const auto pairs, items_of(machine, given));
            for (const Value& pair : pairs) {
                ETNA_TRY(const auto parts, items_of(machine, pair));
                if (parts.size() != 2) {
                    return value_error(
                        "dictionary update sequence element has the wrong length; 2 is required");
                }
                ETNA_CHECK(set_entry(machine, self, parts[0], parts[1]));
            }
        }
    }
    for (const auto& [name, value] : all.keyword)
        ETNA_CHECK(set_entry(machine, self, Value(name), value));
    return Value(None{});
}

Result<Value> setdefault(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_CHECK(require_hashable(*arguments.at(0)));
    if (const Value* found = self.dict()->find(*arguments.at(0)))
        return *found;
    Value fallback = arguments.at(1) != nullptr ? *arguments.at(1) : Value(None{});
    ETNA_CHECK(set_entry(machine, self, *arguments.at(0), fallback));
    return fallback;
}

Result<Value> pop_key(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_CHECK(require_hashable(*arguments.at(0)));
    const auto place = self.dict()->position(*arguments.at(0));
    if (!place && arguments.at(1) != nullptr)
        return *arguments.at(1);
    if (!place) {
        ETNA_TRY(const auto key, to_repr(machine, *arguments.at(0)));
        return python_error("KeyError", key);
    }
    ETNA_CHECK(machine.keep(self.dict()));
    ETNA_CHECK(machine.spend(self.dict()->entries.size() * grown_entry_bytes));
    Value taken = self.dict()->entries[*place].value;
    self.dict()->erase(*place);
    return taken;
}

Result<Value> popitem(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (self.dict()->entries.empty())
        return python_error("KeyError", "'popitem(): dictionary is empty'");
    ETNA_CHECK(machine.keep(self.dict()));
    ETNA_CHECK(machine.spend(self.dict()->entries.size() * grown_entry_bytes));
    const Dict::Entry last = self.dict()->entries.back();
    self.dict()->erase(self.dict()->entries.size() - 1);
    return machine.pair(last.key, last.value);
}

Result<Value> clear_dict(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_CHECK(machine.keep(self.dict()));
    self.dict()->entries.clear();
    self.dict()->index.clear();
    return Value(None{});
}

Result<Value> fromkeys(Machine& machine, const Value& /*self*/, const Bound& arguments) {
    ETNA_TRY(const auto keys, items_of(machine, *arguments.at(0)));
    std::vector<Dict::Entry> entries;
    entries.reserve(keys.size());
    for (const Value& key : keys)
        entries.push_back({key, arguments.at(1) != nullptr ? *arguments.at(1) : Value(None{})});
    return machine.dict(std::move(entries));
}

constexpr Native of_tuples[] = {{"count", "/value", 1, count}, {"index", "/value", 1, index}};
constexpr Native of_lists[] = {
    {"copy", "", 0, copy_list}, {"count", "/value", 1, count}, {"index", "/value", 1, index}};
constexpr Native of_dicts[] = {
    {"copy", "", 0, copy_dict},          {"fromkeys", "/iterable value", 1, fromkeys},
    {"get", "/key default", 1, get},     {"items", "", 0, viewed<View::items>},
    {"keys", "", 0, viewed<View::keys>}, {"values", "", 0, viewed<View::values>}};
constexpr Native changing_lists[] = {
    {"append", "/object", 1, append},   {"clear", "", 0, clear_list},
    {"extend", "/iterable", 1, extend}, {"insert", "/index object", 2, insert},
    {"pop", "/index", 0, pop},          {"remove", "/value", 1, remove},
    {"reverse", "", 0, reverse},        {"sort", "reverse", 0, sort}};
constexpr Native changing_dicts[] = {{"clear", "", 0, clear_dict},
                                     {"pop", "/key default", 1, pop_key},
                                     {"popitem", "", 0, popitem},
                                     {"setdefault", "/key default", 1, setdefault},
                                     {"update", "*", 0, update}};

} // namespace

std::span<const Native> list_methods() {
    return of_lists;
}

std::span<const Native> tuple_methods() {
    return of_tuples;
}

std::span<const Native> dict_methods() {
    return of_dicts;
}

std::span<const Native> list_mutations() {
    return changing_lists;
}

std::span<const Native> dict_mutations() {
    return changing_dicts;
}

} // namespace etna::jinja
