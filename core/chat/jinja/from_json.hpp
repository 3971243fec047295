#pragma once

#include "core/base/result.hpp"
#include "core/chat/jinja/value.hpp"

#include <string_view>

namespace etna::chat::jinja {

/// A JSON text (UTF-8) as a value: objects keep the order of their keys, numbers with a point or exponent are
/// floats, integers of up to 308 digits keep them all. `nesting_max` bounds lists and objects in each other.
/// Errors: invalid_argument (no JSON, with the place; too deep; a number beyond all floats).
Result<Value> from_json(std::string_view text, std::size_t nesting_max = 200);

} // namespace etna::chat::jinja
