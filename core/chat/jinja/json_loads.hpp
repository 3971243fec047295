#pragma once

#include "core/base/result.hpp"
#include "core/chat/jinja/value.hpp"

#include <cstddef>
#include <string_view>

namespace etna::chat::jinja {

/// Python's json.loads(): NaN and Infinity are numbers, the last of equal keys counts, half a surrogate pair
/// becomes U+FFFD. Takes time linear in the text. Errors: JSONDecodeError with Python's message and place,
/// RecursionError beyond `nesting_max` levels, ValueError (an integer of too many digits).
Result<Value> json_loads(std::string_view text, std::size_t nesting_max);

} // namespace etna::chat::jinja
