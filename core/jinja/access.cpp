#include "core/jinja/access.hpp"

#include "core/jinja/builtins.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

std::string owner_of(const Value& value) {
    if (value.is(Type::none))
        return "None";
    if (value.is_markup())
        return "markupsafe.Markup object";
    if (value.is(Type::object))
        return value.object()->owner_name();
    return std::string(type_name(value)) + " object";
}

/// Returns the method of a built-in type; null if it has none of that name.
const Native* method_of(const Value& object, std::string_view name) {
    switch (object.type()) {
    case Type::string:
        return find_native(string_methods(), name);
    case Type::list:
        return find_native(list_methods(), name);
    case Type::dict:
        return find_native(dict_methods(), name);
    default:
        return nullptr;
    }
}

/// Returns the item at a key or index, without attributes; nothing if Python raises TypeError or LookupError.
Result<OptionalValue> item_of(Machine& machine, const Value& object, const Value& key) {
    if (object.is(Type::dict)) {
        const Value* found = is_hashable(key) ? object.dict()->find(key) : nullptr;
        return found != nullptr ? OptionalValue(*found) : std::nullopt;
    }
    const auto position = integer_of(key);
    const List* list = indexed_items(object);
    if (!position || (list == nullptr && !object.is(Type::string)))
        return OptionalValue();
    ETNA_TRY(const std::size_t size, length_of(machine, object));
    const auto length = static_cast<int64_t>(size);
    const int64_t index = *position < 0 ? *position + length : *position;
    if (index < 0 || index >= length)
        return OptionalValue();
    if (list != nullptr)
        return OptionalValue(list->items[static_cast<std::size_t>(index)]);
    std::size_t offset = 0;
    for (int64_t i = 0; i < index; ++i)
        offset += decode_at(object.string(), offset).bytes;
    const std::size_t bytes = decode_at(object.string(), offset).bytes;
    ETNA_TRY(auto character, machine.text(object.string().substr(offset, bytes), object.is_markup()));
    return OptionalValue(std::move(character));
}

/// Returns the attribute, without items.
Result<OptionalValue> attribute_of(Machine& machine, const Value& object, std::string_view name) {
    if (object.is(Type::object))
        return object.object()->attribute(machine, name);
    const Native* method = method_of(object, name);
    return method != nullptr ? bound_method(machine, object, *method) : OptionalValue();
}

/// Returns an undefined value with the message "... has no attribute ...".
Value missing_attribute(const Value& object, const Value& name) {
    return Value(std::make_shared<const Missing>(Missing{.owner = owner_of(object), .name = name}));
}

/// The indices that a slice selects, as computed by Python's slice.indices().
struct SlicePositions {
    int64_t start;
    int64_t step;
    std::size_t count;
};

/// Resolves a slice of `length` items. Errors: TypeError for a part that is not an integer of 64 bits;
/// ValueError for a step of 0.
Result<SlicePositions> slice_positions(const Value& start, const Value& stop, const Value& step,
                                       std::size_t length) {
    for (const Value* part : {&start, &stop, &step}) {
        if (!part->is(Type::none) && !integer_of(*part))
            return type_error("slice indices must be integers or None or have an __index__ method");
    }
    const int64_t stride = step.is(Type::none) ? 1 : *integer_of(step);
    if (stride == 0)
        return value_error("slice step cannot be zero");
    const auto size = static_cast<int64_t>(length);
    const int64_t lowest = stride < 0 ? -1 : 0;
    const int64_t highest = stride < 0 ? size - 1 : size;
    const auto bound = [&](const Value& part, int64_t fallback) {
        if (part.is(Type::none))
            return fallback;
        const int64_t given = *integer_of(part);
        return std::clamp(given < 0 ? given + size : given, lowest, highest);
    };
    const int64_t first = bound(start, stride < 0 ? highest : lowest);
    const int64_t last = bound(stop, stride < 0 ? lowest : highest);
    const int64_t distance = stride < 0 ? first - last : last - first;
    const uint64_t stride_size =
        stride < 0 ? 0 - static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride);
    const uint64_t count = distance <= 0 ? 0 : (static_cast<uint64_t>(distance) - 1) / stride_size + 1;
    return SlicePositions{first, stride, static_cast<std::size_t>(count)};
}

} // namespace

Result<Value> attribute(Machine& machine, const Value& object, std::string_view name) {
    if (object.is(Type::undefined))
        return undefined_error(object);
    ETNA_TRY(auto found, attribute_of(machine, object, name));
    if (found)
        return std::move(*found);
    if (object.is(Type::dict)) {
        if (const Value* item = object.dict()->find(name))
            return *item;
    }
    return missing_attribute(object, Value(name));
}

Result<Value> subscript(Machine& machine, const Value& object, const Value& key) {
    if (object.is(Type::undefined))
        return undefined_error(object);
    ETNA_TRY(auto item, item_of(machine, object, key));
    if (item)
        return std::move(*item);
    if (key.is(Type::string)) {
        ETNA_TRY(auto found, attribute_of(machine, object, key.string()));
        if (found)
            return std::move(*found);
    }
    return missing_attribute(object, key);
}

Result<Value> sliced(Machine& machine, const Value& object, const Value& start, const Value& stop,
                     const Value& step) {
    if (object.is(Type::undefined))
        return undefined_error(object);
    if (!object.is(Type::string) && !object.is_sequence()) {
        return object.is(Type::dict) ? type_error("unhashable type: 'slice'")
                                     : type_error("'{}' object is not subscriptable", type_name(object));
    }
    ETNA_TRY(const std::size_t length, length_of(machine, object));
    ETNA_TRY(const auto positions, slice_positions(start, stop, step, length));
    const auto nth = [&](std::size_t i) {
        return static_cast<std::size_t>(positions.start + static_cast<int64_t>(i) * positions.step);
    };
    if (object.is(Type::string)) {
        ETNA_CHECK(machine.reserve(length * 4));
        const std::u32string letters = decode(object.string());
        std::u32string out;
        for (std::size_t i = 0; i < positions.count; ++i)
            out += letters[nth(i)];
        return machine.text(encode(out), object.is_markup());
    }
    std::vector<Value> items;
    items.reserve(positions.count);
    for (std::size_t i = 0; i < positions.count; ++i)
        items.push_back(object.sequence()->items[nth(i)]);
    return object.is(Type::list) ? machine.list(std::move(items)) : machine.tuple(std::move(items));
}

Result<std::vector<Value>> attribute_path(const Value* attribute) {
    std::vector<Value> path;
    if (attribute == nullptr || attribute->is(Type::none))
        return path;
    if (!attribute->is(Type::string)) {
        path.push_back(*attribute);
        return path;
    }
    for (const std::string& part : split(attribute->string(), ".", -1)) {
        const bool is_index = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
        const auto number = is_index ? parse_integer(part) : std::nullopt;
        path.push_back(number ? *number : Value(part));
    }
    return path;
}

Result<Value> follow(Machine& machine, const Value& value, const std::vector<Value>& path,
                     const Value* fallback) {
    Value current = value;
    for (const Value& key : path) {
        ETNA_TRY(current, subscript(machine, current, key));
        if (fallback != nullptr && current.is(Type::undefined))
            current = *fallback;
    }
    return current;
}

} // namespace etna::jinja
