#pragma once

#include "core/jinja/machine.hpp"

#include <optional>

namespace etna::jinja {

/// Evaluates `object.name`: the attribute first, then the item. Returns an undefined value if both are
/// missing; using it is an error.
Result<Value> attribute(Machine& machine, const Value& object, std::string_view name);

/// Evaluates `object[key]`: the item first, then the attribute.
Result<Value> subscript(Machine& machine, const Value& object, const Value& key);

/// Evaluates `object[start:stop:step]`; each part is an integer or None.
Result<Value> sliced(Machine& machine, const Value& object, const Value& start, const Value& stop,
                     const Value& step);

/// Returns the item at a key or index, without attributes; nothing if Python raises TypeError or LookupError.
Result<std::optional<Value>> item_of(Machine& machine, const Value& object, const Value& key);

/// Returns the attribute, without items.
Result<std::optional<Value>> attribute_of(Machine& machine, const Value& object, std::string_view name);

/// Returns an undefined value with the message "... has no attribute ...".
Value missing_attribute(const Value& object, const Value& name);

/// The indices that a slice selects, as computed by Python's slice.indices().
struct SlicePlaces {
    int64_t start;
    int64_t step;
    std::size_t count;
};
/// Resolves a slice of `length` items. Returns nothing if a part is not an integer; ValueError for a step of
/// 0.
Result<std::optional<SlicePlaces>> slice_places(const Value& start, const Value& stop, const Value& step,
                                                std::size_t length);

} // namespace etna::jinja
