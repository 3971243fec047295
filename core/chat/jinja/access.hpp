#pragma once

#include "core/chat/jinja/machine.hpp"

#include <optional>

namespace etna::chat::jinja {

/// `object.name`: the attribute first, then the item. What is missing is undefined; using an undefined value
/// is an error.
Result<Value> attribute(Machine& machine, const Value& object, std::string_view name);

/// `object[key]`: the item first, then the attribute.
Result<Value> subscript(Machine& machine, const Value& object, const Value& key);

/// `object[start:stop:step]`; each part is an integer or None.
Result<Value> sliced(Machine& machine, const Value& object, const Value& start, const Value& stop,
                     const Value& step);

/// The item at a key or place alone; nothing where Python raises TypeError or LookupError.
Result<std::optional<Value>> item_of(Machine& machine, const Value& object, const Value& key);

/// The attribute alone, without a look at the items.
Result<std::optional<Value>> attribute_of(Machine& machine, const Value& object, std::string_view name);

/// An undefined value with the message "... has no attribute ...".
Value missing_attribute(const Value& object, const Value& name);

/// Places that a slice takes of `length` items, as Python's slice.indices() gives them.
struct SlicePlaces {
    int64_t start;
    int64_t step;
    std::size_t count;
};
/// Nothing where a part is no integer; ValueError for a step of 0.
Result<std::optional<SlicePlaces>> slice_places(const Value& start, const Value& stop, const Value& step,
                                                std::size_t length);

} // namespace etna::chat::jinja
