#pragma once

#include "core/base/json.hpp"
#include "server/api_error.hpp"

#include <string_view>
#include <variant>

namespace etna::server {

using Json = etna::Json;

/// Deeper values are refused while they are parsed: the library copies them by recursion.
constexpr int json_depth_max = 128;

/// Objects of more members are refused: the library looks for each new one among all that are there.
constexpr std::size_t json_members_max = 1024;

/// Bodies of more values are refused: parsed, each takes many times its bytes. A list of two million tokens
/// goes through.
constexpr std::size_t json_values_max = 2'000'000;

/// What a value, or the name of a member, is counted as in memory, beside its letters.
constexpr std::size_t json_value_bytes = 96;

/// A request's body: an object. Counts what it takes in memory as the request's (HttpRequest::claim_memory).
/// Errors: 400, with the place, also where a schema's number has more digits than a double; 413 (too many
/// values); 503 (the memory for requests is used up).
std::variant<Json, ApiError> parse_body(const HttpRequest& request);

/// The same of a text that nobody counts.
std::variant<Json, ApiError> parse_body(std::string_view body);

/// One line; what is no UTF-8 becomes U+FFFD.
std::string text_of(const Json& json);

} // namespace etna::server
