#pragma once

#include "server/router.hpp"

#include <string>
#include <vector>

namespace etna::server {

/// All routes of the server, in matching order.
std::vector<Route> all_routes(const ServiceOptions& options);

/// Writes an error of a request that no route takes, in the format that its headers or path ask for.
HttpReply write_unrouted_error(const HttpRequest& request, const ApiError& error);

/// A human-readable list of routes, one per line: method, path, summary.
std::string route_lines(const std::vector<Route>& routes);

/// The routes as an OpenAPI 3.1 document, as JSON text. Bodies are described as JSON, without schemas.
std::string openapi_document(const std::vector<Route>& routes);

} // namespace etna::server
