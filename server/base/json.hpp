#pragma once

#include "core/base/json.hpp"
#include "server/base/api_error.hpp"
#include "server/base/memory_budget.hpp"

#include <string_view>

namespace etna::server {

using Json = etna::Json;

/// Maximum nesting depth, checked while parsing: the library copies values recursively.
constexpr int json_depth_max = 128;

/// Maximum members of an object: the library's lookup for each new member is linear.
constexpr std::size_t json_members_max = 1024;

/// Maximum values in a body: a parsed value takes many times its size in bytes. A list of two million tokens
/// is accepted.
constexpr std::size_t json_values_max = 2'000'000;

/// Bytes charged for a value or a member name, in addition to its characters.
constexpr std::size_t json_value_bytes = 96;

/// Returns the float as the number with its shortest digits: 0.8, where its conversion to double has more.
Json number_json(float value);

/// Returns the approximate memory of a value in bytes, as parse_body() charges it.
std::size_t json_memory_bytes(const Json& json);

/// Parses a request body, which must be an object. Charges its memory to `memory`; null: it is not counted.
/// Errors: 400, with the position, also if a number has more digits than a double in a JSON Schema keyword
/// that constrains answers; 413 (too many values); 503 (the request memory budget is exhausted).
ApiResult<Json> parse_body(std::string_view body, MemoryReservation* memory = nullptr);

} // namespace etna::server
