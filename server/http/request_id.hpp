#pragma once

#include "server/http/http.hpp"

#include <string>

namespace etna::server {

/// The request's `x-request-id`, if it is one line of visible characters and not too long; else a new id.
std::string request_id_of(const HttpRequest& request);

} // namespace etna::server
