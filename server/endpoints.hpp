#pragma once

#include "server/router.hpp"

namespace etna::server {

/// Liveness probe.
HttpReply live(Service& service, const HttpRequest& request, const Call& call);

/// Readiness probe: 200, or 503 with the reason; also at /health. Reports it if the store is in memory
/// because its file could not be opened.
HttpReply ready(Service& service, const HttpRequest& request, const Call& call);

/// Metrics in the Prometheus text format.
HttpReply show_metrics(Service& service, const HttpRequest& request, const Call& call);

/// The HTML front page.
HttpReply show_front_page(Service& service, const HttpRequest& request, const Call& call);

/// The routes as an OpenAPI document.
HttpReply show_openapi(Service& service, const HttpRequest& request, const Call& call);

/// All routes of the server, in matching order.
std::vector<Route> all_routes(const ServiceOptions& options);

} // namespace etna::server
