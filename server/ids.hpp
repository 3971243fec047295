#pragma once

#include "server/http.hpp"

#include <string>
#include <string_view>

namespace etna::server {

/// A random UUID, version 4 (RFC 9562).
std::string new_uuid();

/// `prefix` and 24 random letters and digits: "chatcmpl-...", "call_...".
std::string new_id(std::string_view prefix);

/// The id that the request brought in `x-request-id`, if it is one line of visible letters and not too long;
/// else a new one.
std::string request_id_of(const HttpRequest& request);

/// Whether two texts are equal, in a time that depends on their lengths alone.
bool equal_in_constant_time(std::string_view one, std::string_view other);

} // namespace etna::server
