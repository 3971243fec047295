#pragma once

#include "server/api_error.hpp"

#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

namespace etna::server {

/// Members keep their order, as templates and people like it.
using Json = nlohmann::ordered_json;

/// Deeper values are refused while they are parsed: the library copies them by recursion.
constexpr int json_depth_max = 128;

/// Objects of more members are refused: the library looks for each new one among all that are there.
constexpr std::size_t json_members_max = 1024;

/// A request's body: an object. Error: 400, with the place.
std::variant<Json, ApiError> parse_body(std::string_view body);

/// One line; what is no UTF-8 becomes U+FFFD.
std::string text_of(const Json& json);

} // namespace etna::server
