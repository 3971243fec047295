#pragma once

#include "core/chat/jinja/machine.hpp"

#include <vector>

namespace etna::chat::jinja {

/// "address.city" or "items.0" as the keys to follow one after another; empty for none (null or None).
Result<std::vector<Value>> attribute_path(const Value* attribute);

/// What the path leads to from `value`; where that is undefined and `fallback` is not null, the fallback.
Result<Value> follow(Machine& machine, const Value& value, const std::vector<Value>& path,
                     const Value* fallback = nullptr);

} // namespace etna::chat::jinja
