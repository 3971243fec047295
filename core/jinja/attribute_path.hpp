#pragma once

#include "core/jinja/machine.hpp"

#include <vector>

namespace etna::jinja {

/// Splits "address.city" or "items.0" into the keys to look up in turn; empty for null or None.
Result<std::vector<Value>> attribute_path(const Value* attribute);

/// Looks up the path from `value`. If `fallback` is not null, it replaces an undefined result of a key.
Result<Value> follow(Machine& machine, const Value& value, const std::vector<Value>& path,
                     const Value* fallback = nullptr);

} // namespace etna::jinja
