#include "core/jinja/value.hpp"

#include "core/jinja/numbers.hpp"
#include "core/jinja/object.hpp"

#include <algorithm>
#include <functional>

namespace etna::jinja {
namespace {

constexpr std::size_t indexed_from = 8; ///< smaller dicts use linear search

/// Hash and equality of keys. Precondition: is_hashable() of each.
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

} // namespace

Value::Value() : content_(std::shared_ptr<const Missing>()) {}

Value::Value(std::string_view text)
    : content_(std::shared_ptr<const Text>(std::make_shared<Text>(std::string(text)))) {}

Value Value::list(std::vector<Value> items) {
    auto list = std::make_shared<List>();
    for (const Value& item : items)
        list->depth = std::max(list->depth, item.depth() + 1);
    list->items = std::move(items);
    return Value(std::move(list));
}

Value Value::dict(std::vector<std::pair<std::string, Value>> entries) {
    auto dict = std::make_shared<Dict>();
    for (auto& [key, value] : entries) {
        dict->depth = std::max(dict->depth, value.depth() + 1);
        dict->set(key, std::move(value));
    }
    return Value(std::move(dict));
}

Type Value::type() const {
    constexpr Type types[] = {Type::undefined, Type::none, Type::boolean, Type::integer, Type::real,
                              Type::string,    Type::list, Type::dict,    Type::object};
    const Type type = types[content_.index()];
    if (type == Type::string && text().kind == Text::Kind::integer)
        return Type::large;
    return type == Type::list && sequence()->is_tuple ? Type::tuple : type;
}

bool Value::same_as(const Value& other) const {
    if (type() != other.type())
        return false;
    if (is(Type::string) || is(Type::large))
        return string() == other.string() && is_markup() == other.is_markup();
    return is(Type::none) || content_ == other.content_;
}

std::size_t Value::depth() const {
    if (const auto* list = std::get_if<std::shared_ptr<List>>(&content_))
        return (*list)->depth;
    if (const auto* dict = std::get_if<std::shared_ptr<Dict>>(&content_))
        return (*dict)->depth;
    if (const auto* object = std::get_if<std::shared_ptr<Object>>(&content_))
        return (*object)->depth();
    return 0;
}

std::string_view type_name(const Value& value) {
    constexpr std::string_view names[] = {"Undefined", "NoneType", "bool", "int",   "int",
                                          "float",     "str",      "list", "tuple", "dict"};
    if (value.is(Type::object))
        return value.object()->type_name();
    return value.is_markup() ? "Markup" : names[static_cast<std::size_t>(value.type())];
}

Value undefined(std::string hint) {
    return Value(std::shared_ptr<const Missing>(std::make_shared<Missing>(Missing{.hint = std::move(hint)})));
}

bool is_hashable(const Value& value) {
    if (value.is(Type::list) || value.is(Type::dict) || value.is(Type::large))
        return false;
    if (!value.is(Type::tuple))
        return true;
    const auto& items = value.sequence()->items;
    return std::all_of(items.begin(), items.end(), is_hashable);
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
    for (auto found = first; found != last; ++found) {
        if (keys_equal(entries[found->second].key, key))
            return found->second;
    }
    return {};
}

const Value* Dict::find(const Value& key) const {
    const auto found = position(key);
    return found ? &entries[*found].value : nullptr;
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
    if (const auto found = position(key)) {
        entries[*found].value = std::move(value);
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
