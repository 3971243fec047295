#pragma once

#include "server/api/answer_services.hpp"
#include "server/api/route.hpp"
#include "server/kv_events/publisher.hpp"

#include <atomic>
#include <vector>

namespace etna::server {

namespace tracing {
class SpanExporter;
}

/// The services of the operator's endpoints, which only read them. Borrows them.
struct OperatorServices {
    const ServiceOptions& options;
    const std::atomic<ServiceState>& state;
    const Persistence& persistence;
    Metrics& metrics;
    Models& models;
    const kv_events::Publisher* kv_events = nullptr; ///< null: the caches are not published
    const tracing::SpanExporter* exporter = nullptr; ///< null: requests are not traced
};

/// The operator's routes: readiness, load, version, metrics, the front page and the OpenAPI document.
std::vector<RouteOf<const OperatorServices>> operator_routes();

} // namespace etna::server
