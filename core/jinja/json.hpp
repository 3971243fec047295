#pragma once

#include "core/base/result.hpp"
#include "core/jinja/machine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace etna::jinja {

/// Options of json.dumps(); the defaults are those of the tojson filter in transformers.
struct JsonStyle {
    std::optional<std::string> indent = {}; ///< per level; none: one line
    std::string item_separator = ", ";
    std::string key_separator = ": ";
    bool sort_keys = false;
    bool ascii_only = false;
};

/// Errors: TypeError for a value that JSON cannot represent; a limit.
Result<std::string> to_json(Machine& machine, const Value& value, const JsonStyle& style);

/// Writes a value of from_json() on one line without spaces; invalid UTF-8 becomes U+FFFD, and an integer of
/// more than 64 bits the nearest float.
std::string compact_json(const Value& value);

/// Parses JSON text (UTF-8): objects preserve their key order, numbers with a point or exponent are floats,
/// integers of up to 308 digits are exact. `nesting_max` limits the nesting of lists and objects. Errors:
/// invalid_argument (not JSON, with the position; too deep; a number out of float range).
Result<Value> from_json(std::string_view text, std::size_t nesting_max = 200);

} // namespace etna::jinja
