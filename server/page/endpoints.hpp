#pragma once

#include "server/api/route.hpp"
#include "server/page/services.hpp"

#include <vector>

// The web page: its files inside the executable, and the state that it shows.
namespace etna::server::page {

/// Whether a request for `/` comes from a browser, which gets the page: it takes HTML, or names its fetch
/// mode.
bool is_from_browser(const HttpRequest& request);

/// GET /: the page's document.
ApiResult<HttpReply> show_document(const HttpRequest& request);

/// The other routes of the page. Those of files need no key.
std::vector<RouteOf<const Services>> routes();

} // namespace etna::server::page
