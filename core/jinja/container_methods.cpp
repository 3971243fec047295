// Methods of list, tuple and dict.

#include "core/jinja/builtins.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/sequences.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr std::size_t grown_entry_bytes = sizeof(Dict::Entry) + 48;

/// Checks that `item` may be added to a list or dict: memory and depth limits.
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

Status require_hashable(const Value& key) {
    if (is_hashable(key))
        return {};
    return type_error("unhashable type: '{}'", type_name(key));
}

Value or_none(const Value* value) {
    return value != nullptr ? *value : Value(None{});
}

Result<Value> dict_get(Machine& /*machine*/, const Value& self, const Bound& arguments) {
    ETNA_CHECK(require_hashable(*arguments.at(0)));
    const Value* found = self.dict()->find(*arguments.at(0));
    return found != nullptr ? *found : or_none(arguments.at(1));
}

template <View view>
Result<Value> dict_view(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return make_view(machine, self, view);
}

Result<Value> dict_copy(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return machine.dict(self.dict()->entries);
}

Status set_entry(Machine& machine, const Value& self, const Value& key, const Value& value) {
    ETNA_CHECK(require_hashable(key));
    ETNA_CHECK(admit(machine, self.dict(), key, 0));
    ETNA_CHECK(admit(machine, self.dict(), value, grown_entry_bytes));
    self.dict()->set(key, value);
    return {};
}

Result<Value> dict_update(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto entries, entries_of(machine, arguments.all));
    for (const Dict::Entry& entry : entries)
        ETNA_CHECK(set_entry(machine, self, entry.key, entry.value));
    return Value(None{});
}

Result<Value> dict_pop(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_CHECK(require_hashable(*arguments.at(0)));
    const auto position = self.dict()->position(*arguments.at(0));
    if (!position && arguments.at(1) != nullptr)
        return *arguments.at(1);
    if (!position) {
        ETNA_TRY(const auto key, to_repr(machine, *arguments.at(0)));
        return python_error("KeyError", "{}", key);
    }
    ETNA_CHECK(machine.keep(self.dict()));
    ETNA_CHECK(machine.spend(self.dict()->entries.size() * grown_entry_bytes));
    Value taken = self.dict()->entries[*position].value;
    self.dict()->erase(*position);
    return taken;
}

constexpr Native list_table[] = {{"append", "/object", 1, list_append},
                                 {"extend", "/iterable", 1, list_extend},
                                 {"pop", "/index", 0, list_pop}};
constexpr Native dict_table[] = {{"copy", "", 0, dict_copy},
                                 {"get", "/key default", 1, dict_get},
                                 {"items", "", 0, dict_view<View::items>},
                                 {"keys", "", 0, dict_view<View::keys>},
                                 {"pop", "/key default", 1, dict_pop},

                                 {"update", "*", 0, dict_update},
                                 {"values", "", 0, dict_view<View::values>}};

} // namespace

std::span<const Native> list_methods() {
    return list_table;
}

std::span<const Native> dict_methods() {
    return dict_table;
}

} // namespace etna::jinja
