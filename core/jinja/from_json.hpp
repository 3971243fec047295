#pragma once

#include "core/base/result.hpp"
#include "core/jinja/value.hpp"

#include <string_view>

namespace etna::jinja {

/// Parses JSON text (UTF-8): objects keep their key order, numbers with a point or exponent are floats,
/// integers of up to 308 digits are exact. `nesting_max` limits the nesting of lists and objects. Errors:
/// invalid_argument (not JSON, with the position; too deep; a number out of float range).
Result<Value> from_json(std::string_view text, std::size_t nesting_max = 200);

} // namespace etna::jinja
