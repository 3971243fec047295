#pragma once

#include "server/base/json.hpp"
#include "server/http/http.hpp"

namespace etna::server {

/// Parses the body of a request, unless it has been parsed, and charges its memory to it: see parse_body() of
/// the text.
ApiResult<Json> parse_body(const HttpRequest& request);

} // namespace etna::server
