#pragma once

#include "core/base/json.hpp"
#include "core/jinja/value.hpp"

// The border between parsed JSON and values: no text is written or parsed.
namespace etna::jinja {

/// Returns the value that from_json() returns for the text of `json`. Recursive: the caller bounds the
/// nesting.
Value value_of_json(const Json& json);

/// Inverse of value_of_json(). An integer of more than 64 bits becomes the nearest float. Precondition: a
/// value of from_json() or value_of_json(), or one built of the same types; anything else becomes null.
Json json_of_value(const Value& value);

} // namespace etna::jinja
