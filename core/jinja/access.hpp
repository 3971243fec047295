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

/// Splits "address.city" or "items.0" into the keys to look up one by one; empty for null or None.
Result<std::vector<Value>> attribute_path(const Value* attribute);

/// Looks up the path from `value`. If `fallback` is not null, it replaces an undefined result of a key.
Result<Value> follow(Machine& machine, const Value& value, const std::vector<Value>& path,
                     const Value* fallback = nullptr);

} // namespace etna::jinja
