#pragma once

#include "server/app/router.hpp"

#include <string>
#include <vector>

namespace etna::server {

/// The routes as an OpenAPI 3.1 document, as JSON text. Bodies are described as JSON, without schemas.
std::string openapi_document(const std::vector<Route>& routes);

} // namespace etna::server
