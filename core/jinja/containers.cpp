#include "core/jinja/containers.hpp"

#include "core/jinja/numbers.hpp"
#include "core/jinja/object.hpp"

#include <algorithm>
#include <functional>

namespace etna::jinja {
namespace {

constexpr std::size_t indexed_from = 8; ///< smaller dicts use linear search

} // namespace

Value undefined(std::string hint) {
    return Value(std::shared_ptr<const Missing>(std::make_shared<Missing>(Missing{.hint = std::move(hint)})));
}

bool is_hashable(const Value& value) {
    if (value.is(Type::list) || value.is(Type::dict))
        return false;
    if (value.is(Type::object))
        return value.object()->is_hashable();
    if (!value.is(Type::tuple))
        return true;
    const auto& items = value.sequence()->items;
    return std::all_of(items.begin(), items.end(), is_hashable);
}

std::size_t hash_of(const Value& key) {
    if (key.is(Type::string))
        return std::hash<std::string>()(key.string());
    if (is_number(key))
        return std::hash<double>()(real_of(key));
    if (key.is(Type::tuple)) {
        std::size_t hash = 17;
        for (const Value& item : key.sequence()->items)
            hash = hash * 31 + hash_of(item);
        return hash;
    }
    return key.is(Type::object) ? std::hash<const void*>()(key.object().get()) : 1;
}

bool keys_equal(const Value& left, const Value& right) {
    if (left.is(Type::string) && right.is(Type::string))
        return left.string() == right.string();
    if (is_number(left) && is_number(right))
        return number_order(left, right) == 0;
    if (left.is(Type::tuple) && right.is(Type::tuple)) {
        const auto& mine = left.sequence()->items;
        const auto& theirs = right.sequence()->items;
        return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(), keys_equal);
    }
    if (left.is(Type::undefined) && right.is(Type::undefined))
        return true;
    return left.same_as(right);
}

std::optional<std::size_t> Dict::position(const Value& key) const {
    if (entries.size() < indexed_from) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (keys_equal(entries[i].key, key))
                return i;
        }
        return {};
    }
    const auto [first, last] = index.equal_range(hash_of(key));
    for (auto place = first; place != last; ++place) {
        if (keys_equal(entries[place->second].key, key))
            return place->second;
    }
    return {};
}

const Value* Dict::find(const Value& key) const {
    const auto place = position(key);
    return place ? &entries[*place].value : nullptr;
}

const Value* Dict::find(std::string_view key) const {
    if (entries.size() >= indexed_from)
        return find(Value(key));
    for (const Entry& entry : entries) {
        if (entry.key.is(Type::string) && entry.key.string() == key)
            return &entry.value;
    }
    return nullptr;
}

void Dict::set(const Value& key, Value value) {
    if (const auto place = position(key)) {
        entries[*place].value = std::move(value);
        return;
    }
    entries.push_back({key, std::move(value)});
    if (entries.size() == indexed_from) {
        for (std::size_t i = 0; i < entries.size(); ++i)
            index.emplace(hash_of(entries[i].key), i);
    } else if (entries.size() > indexed_from) {
        index.emplace(hash_of(key), entries.size() - 1);
    }
}

void Dict::erase(std::size_t position) {
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(position));
    index.clear();
    for (std::size_t i = 0; entries.size() >= indexed_from && i < entries.size(); ++i)
        index.emplace(hash_of(entries[i].key), i);
}

} // namespace etna::jinja
