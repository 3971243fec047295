#pragma once

#include "server/router.hpp"

namespace etna::server {

/// Whether the process lives.
HttpReply live(Service& service, const HttpRequest& request, const Call& call);

/// Whether requests are taken: 200, or 503 with the reason. /health says the same. Where what is kept is only
/// in memory, and was meant to be in a file, that is told too.
HttpReply ready(Service& service, const HttpRequest& request, const Call& call);

/// Prometheus' text format.
HttpReply show_metrics(Service& service, const HttpRequest& request, const Call& call);

/// A page for browsers.
HttpReply show_front_page(Service& service, const HttpRequest& request, const Call& call);

/// The routes as an OpenAPI document.
HttpReply show_openapi(Service& service, const HttpRequest& request, const Call& call);

/// Every route of the server, in the order in which they are looked for.
std::vector<Route> all_routes(const ServiceOptions& options);

} // namespace etna::server
