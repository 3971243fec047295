#pragma once

#include "core/jinja/machine.hpp"

#include <optional>
#include <vector>

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
Result<OptionalValue> item_of(Machine& machine, const Value& object, const Value& key);

/// Returns the attribute, without items.
Result<OptionalValue> attribute_of(Machine& machine, const Value& object, std::string_view name);

/// Returns an undefined value with the message "... has no attribute ...".
Value missing_attribute(const Value& object, const Value& name);

/// The indices that a slice selects, as computed by Python's slice.indices().
struct SlicePositions {
    int64_t start;
    int64_t step;
    std::size_t count;
};
/// Resolves a slice of `length` items. Returns nothing if a part is not an integer; ValueError for a step of
/// 0.
Result<std::optional<SlicePositions>> slice_positions(const Value& start, const Value& stop,
                                                      const Value& step, std::size_t length);

/// Splits "address.city" or "items.0" into the keys to look up one by one; empty for null or None.
Result<std::vector<Value>> attribute_path(const Value* attribute);

/// Looks up the path from `value`. If `fallback` is not null, it replaces an undefined result of a key.
Result<Value> follow(Machine& machine, const Value& value, const std::vector<Value>& path,
                     const Value* fallback = nullptr);

} // namespace etna::jinja
