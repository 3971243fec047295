#pragma once

#include "server/api/route.hpp"
#include "server/page/services.hpp"

// The state of the server as its web page shows it. Unknown values are null.
namespace etna::server::page {

/// GET /page/state: one object with devices, models, clients, throughput and the last requests. A client that
/// is not the operator sees its own requests only, and no names of other clients.
ApiResult<HttpReply> show_state(const Services& services, const HttpRequest& request,
                                const RoutedRequest& routed);

/// GET /page/requests/{id}: the newest request with this id, and its prompt if it is stored. Error: 404, also
/// for requests of other clients, unless the operator asks.
ApiResult<HttpReply> show_request(const Services& services, const HttpRequest& request,
                                  const RoutedRequest& routed);

} // namespace etna::server::page
