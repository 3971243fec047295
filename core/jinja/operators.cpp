// Comparison, membership, truth, length, iteration and calls.

#include "core/jinja/operators.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/text.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr std::string_view order_signs[] = {"==", "!=", "<", "<=", ">", ">="};

bool holds(Comparison sign, int order) {
    switch (sign) {
    case Comparison::less:
        return order == -1;
    case Comparison::less_equal:
        return order == -1 || order == 0;
    case Comparison::greater:
        return order == 1;
    case Comparison::greater_equal:
        return order == 1 || order == 0;
    default:
        return false;
    }
}

Result<bool> sequences_ordered(Machine& machine, Comparison sign, const List& left, const List& right) {
    const std::size_t common = std::min(left.items.size(), right.items.size());
    for (std::size_t i = 0; i < common; ++i) {
        ETNA_TRY(const bool same, equal(machine, left.items[i], right.items[i]));
        if (!same)
            return ordered(machine, sign, left.items[i], right.items[i]);
    }
    const std::size_t first = left.items.size();
    const std::size_t second = right.items.size();
    return holds(sign, first < second ? -1 : (first > second ? 1 : 0));
}

Result<bool> dicts_equal(Machine& machine, const Dict& left, const Dict& right) {
    if (left.entries.size() != right.entries.size())
        return false;
    for (const Dict::Entry& entry : left.entries) {
        const Value* other = right.find(entry.key);
        if (other == nullptr)
            return false;
        ETNA_TRY(const bool same, equal(machine, entry.value, *other));
        if (!same)
            return false;
    }
    return true;
}

class ListCursor final : public Cursor {
public:
    ListCursor(std::shared_ptr<List> list, bool is_reversed)
        : list_(std::move(list)), is_reversed_(is_reversed), place_(is_reversed ? list_->items.size() : 0) {}

    Result<std::optional<Value>> next(Machine& /*machine*/) override {
        if (is_reversed_ ? place_ == 0 || place_ > list_->items.size() : place_ >= list_->items.size())
            return std::optional<Value>();
        return std::optional<Value>(list_->items[is_reversed_ ? --place_ : place_++]);
    }

private:
    std::shared_ptr<List> list_;
    bool is_reversed_;
    std::size_t place_;
};

class KeyCursor final : public Cursor {
public:
    explicit KeyCursor(std::shared_ptr<Dict> dict) : dict_(std::move(dict)), size_(dict_->entries.size()) {}

    Result<std::optional<Value>> next(Machine& /*machine*/) override {
        if (dict_->entries.size() != size_)
            return python_error("RuntimeError", "dictionary changed size during iteration");
        if (place_ == size_)
            return std::optional<Value>();
        return std::optional<Value>(dict_->entries[place_++].key);
    }

private:
    std::shared_ptr<Dict> dict_;
    std::size_t size_;
    std::size_t place_ = 0;
};

class CharacterCursor final : public Cursor {
public:
    explicit CharacterCursor(Value text) : text_(std::move(text)) {}

    Result<std::optional<Value>> next(Machine& machine) override {
        const std::string& bytes = text_.string();
        if (position_ == bytes.size())
            return std::optional<Value>();
        const std::size_t begin = position_;
        position_ += decode_at(bytes, begin).bytes;
        ETNA_TRY(auto character, machine.text(bytes.substr(begin, position_ - begin)));
        return std::optional<Value>(std::move(character));
    }

private:
    Value text_;
    std::size_t position_ = 0;
};

/// repr() of a key that is not a string, simplified for error messages.
std::string plain_repr(const Value& key) {
    switch (key.type()) {
    case Type::integer:
    case Type::large:
        return integer_text(key);
    case Type::real:
        return real_text(key.real());
    case Type::boolean:
        return key.boolean() ? "True" : "False";
    case Type::none:
        return "None";
    default:
        return std::string(type_name(key));
    }
}

Error not_iterable(const Value& value) {
    return type_error(fmt::format("'{}' object is not iterable", type_name(value)));
}

} // namespace

Error undefined_error(const Value& value) {
    const Missing* missing = value.missing();
    std::string message = "value is undefined";
    if (missing != nullptr && !missing->hint.empty()) {
        message = missing->hint;
    } else if (missing != nullptr) {
        const bool is_name = missing->name.is(Type::string);
        const std::string name = is_name ? quoted(missing->name.string()) : plain_repr(missing->name);
        if (missing->owner.empty()) {
            message = name + " is undefined";
        } else if (is_name) {
            message = fmt::format("{} has no attribute {}", quoted(missing->owner), name);
        } else {
            message = fmt::format("{} has no element {}", missing->owner, name);
        }
    }
    return python_error(missing != nullptr && missing->is_unsafe ? "SecurityError" : "UndefinedError",
                        message);
}

Result<bool> equal(Machine& machine, const Value& left, const Value& right) {
    const Machine::Level level(machine);
    ETNA_CHECK(level.check());
    ETNA_CHECK(machine.spend(step_work));
    if (is_number(left) && is_number(right))
        return number_order(left, right) == 0;
    if (left.type() != right.type())
        return false;
    if (left.is(Type::undefined))
        return true;
    if (left.is(Type::string))
        return left.string() == right.string();
    if (left.is(Type::dict))
        return dicts_equal(machine, *left.dict(), *right.dict());
    if (!left.is_sequence()) {
        if (left.is(Type::object) && left.object()->is_indexable() && right.object()->is_indexable() &&
            type_name(left) == type_name(right)) { // ranges
            ETNA_TRY(const auto first, items_of(machine, left));
            ETNA_TRY(const auto second, items_of(machine, right));
            return std::equal(first.begin(), first.end(), second.begin(), second.end(), keys_equal);
        }
        return left.same_as(right);
    }
    const auto& first = left.sequence()->items;
    const auto& second = right.sequence()->items;
    if (first.size() != second.size())
        return false;
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (first[i].same_as(second[i]))
            continue;
        ETNA_TRY(const bool same, equal(machine, first[i], second[i]));
        if (!same)
            return false;
    }
    return true;
}

Result<bool> ordered(Machine& machine, Comparison sign, const Value& left, const Value& right) {
    const Machine::Level level(machine);
    ETNA_CHECK(level.check());
    ETNA_CHECK(machine.spend(step_work));
    if (is_number(left) && is_number(right))
        return holds(sign, number_order(left, right));
    if (left.is(Type::string) && right.is(Type::string)) {
        const int order = left.string().compare(right.string()); // UTF-8 bytes sort in code point order
        return holds(sign, order < 0 ? -1 : (order > 0 ? 1 : 0));
    }
    if (left.is_sequence() && left.type() == right.type())
        return sequences_ordered(machine, sign, *left.sequence(), *right.sequence());
    if (left.is(Type::undefined) || right.is(Type::undefined))
        return undefined_error(left.is(Type::undefined) ? left : right);
    return type_error(fmt::format("'{}' not supported between instances of '{}' and '{}'",
                                  order_signs[static_cast<std::size_t>(sign)], type_name(left),
                                  type_name(right)));
}

Result<bool> contains(Machine& machine, const Value& container, const Value& item) {
    if (container.is(Type::string)) {
        if (!item.is(Type::string)) {
            return type_error(
                fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
        }
        ETNA_CHECK(machine.spend(search_work * container.string().size()));
        return find_in(container.string(), item.string()) != std::string::npos;
    }
    if (container.is(Type::dict)) {
        if (!is_hashable(item))
            return type_error(fmt::format("unhashable type: '{}'", type_name(item)));
        return container.dict()->find(item) != nullptr;
    }
    if (!is_iterable(machine, container))
        return type_error(fmt::format("argument of type '{}' is not iterable", type_name(container)));
    ETNA_TRY(const auto cursor, iterate(machine, container));
    while (true) {
        ETNA_TRY(const auto next, cursor->next(machine));
        if (!next)
            return false;
        ETNA_TRY(const bool same, equal(machine, *next, item));
        if (same || next->same_as(item))
            return true;
    }
}

Result<bool> compare(Machine& machine, Comparison sign, const Value& left, const Value& right) {
    switch (sign) {
    case Comparison::equal:
        return equal(machine, left, right);
    case Comparison::unequal: {
        ETNA_TRY(const bool same, equal(machine, left, right));
        return !same;
    }
    case Comparison::in:
        return contains(machine, right, left);
    case Comparison::not_in: {
        ETNA_TRY(const bool found, contains(machine, right, left));
        return !found;
    }
    default:
        return ordered(machine, sign, left, right);
    }
}

Result<bool> is_true(Machine& machine, const Value& value) {
    switch (value.type()) {
    case Type::undefined:
    case Type::none:
        return false;
    case Type::boolean:
        return value.boolean();
    case Type::integer:
        return value.integer() != 0;
    case Type::large:
        return true;
    case Type::real:
        return value.real() != 0;
    case Type::string:
        return !value.string().empty();
    case Type::list:
    case Type::tuple:
        return !value.sequence()->items.empty();
    case Type::dict:
        return !value.dict()->entries.empty();
    case Type::object:
        break;
    }
    ETNA_TRY(const auto length, value.object()->length(machine));
    return !length || *length > 0;
}

Result<std::size_t> length_of(Machine& machine, const Value& value) {
    if (value.is(Type::undefined))
        return std::size_t{0};
    if (value.is(Type::string)) {
        ETNA_CHECK(machine.spend(value.string().size()));
        return count_code_points(value.string());
    }
    if (value.is_sequence())
        return value.sequence()->items.size();
    if (value.is(Type::dict))
        return value.dict()->entries.size();
    if (value.is(Type::object)) {
        ETNA_TRY(const auto length, value.object()->length(machine));
        if (length)
            return *length;
    }
    return type_error(fmt::format("object of type '{}' has no len()", type_name(value)));
}

bool is_iterable(Machine& machine, const Value& value) {
    if (!value.is(Type::object)) {
        return value.is(Type::undefined) || value.is(Type::string) || value.is_sequence() ||
               value.is(Type::dict);
    }
    const auto cursor = value.object()->iterate(machine);
    return cursor && *cursor != nullptr;
}

Result<std::unique_ptr<Cursor>> iterate(Machine& machine, const Value& value) {
    if (value.is(Type::undefined))
        return std::unique_ptr<Cursor>(std::make_unique<VectorCursor>(std::vector<Value>()));
    if (value.is(Type::string))
        return std::unique_ptr<Cursor>(std::make_unique<CharacterCursor>(value));
    if (value.is_sequence())
        return std::unique_ptr<Cursor>(std::make_unique<ListCursor>(value.sequence(), false));
    if (value.is(Type::dict))
        return std::unique_ptr<Cursor>(std::make_unique<KeyCursor>(value.dict()));
    if (!value.is(Type::object))
        return not_iterable(value);
    ETNA_TRY(auto cursor, value.object()->iterate(machine));
    if (cursor == nullptr)
        return not_iterable(value);
    return cursor;
}

Result<std::unique_ptr<Cursor>> iterate_reversed(Machine& machine, const Value& value) {
    if (value.is_sequence())
        return std::unique_ptr<Cursor>(std::make_unique<ListCursor>(value.sequence(), true));
    if (value.is(Type::object))
        return value.object()->iterate_reversed(machine);
    if (!value.is(Type::string) && !value.is(Type::dict))
        return std::unique_ptr<Cursor>();
    ETNA_TRY(const auto items, items_of(machine, value));
    return std::unique_ptr<Cursor>(
        std::make_unique<VectorCursor>(std::vector<Value>(items.rbegin(), items.rend())));
}

Result<std::vector<Value>> items_of(Machine& machine, const Value& value) {
    ETNA_TRY(const auto cursor, iterate(machine, value));
    std::vector<Value> items;
    while (true) {
        ETNA_TRY(auto next, cursor->next(machine));
        if (!next)
            return items;
        ETNA_CHECK(machine.spend(sizeof(Value)));
        ETNA_CHECK(machine.room_for(items.size() * sizeof(Value)));
        items.push_back(std::move(*next));
    }
}

Result<Value> call(Machine& machine, const Value& callee, Arguments arguments) {
    if (callee.is(Type::undefined))
        return undefined_error(callee);
    if (!callee.is(Type::object) || !callee.object()->is_callable())
        return type_error(fmt::format("'{}' object is not callable", type_name(callee)));
    const Machine::Level level(machine);
    ETNA_CHECK(level.check());
    return callee.object()->call(machine, std::move(arguments));
}

} // namespace etna::jinja
