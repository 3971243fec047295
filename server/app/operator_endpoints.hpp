#pragma once

#include "server/app/router.hpp"

#include <vector>

namespace etna::server {

/// The operator's routes: readiness, load, version, metrics, the front page and the OpenAPI document.
std::vector<Route> operator_routes();

} // namespace etna::server
