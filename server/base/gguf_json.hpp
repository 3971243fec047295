#pragma once

#include "core/gguf/value.hpp"
#include "server/base/json.hpp"

#include <cstddef>
#include <functional>

namespace etna::server {

/// Returns the replacement of a list of `elements` elements in the JSON.
using ListSummary = std::function<Json(std::size_t elements)>;

/// Returns a metadata value as JSON. `summary` replaces lists of more than `elements_max` elements, nested
/// ones included: a vocabulary is one.
Json value_json(const gguf::Value& value, std::size_t elements_max, const ListSummary& summary);

} // namespace etna::server
