#pragma once

#include "server/router.hpp"

#include <string>
#include <vector>

namespace etna::server {

/// One line for each route: method, path, what it does; for people.
std::string route_lines(const std::vector<Route>& routes);

/// The routes as an OpenAPI 3.1 document, as JSON text. Bodies are described no further than that they are
/// JSON.
std::string openapi_document(const std::vector<Route>& routes);

} // namespace etna::server
