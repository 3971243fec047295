#include "server/app/operator_endpoints.hpp"

#include "server/api/persistence.hpp"
#include "server/app/endpoints.hpp"
#include "server/app/front_page.hpp"
#include "server/app/openapi.hpp"
#include "server/base/json.hpp"
#include "server/observe/metric_readings.hpp"
#include "server/page/endpoints.hpp"

#include <string>
#include <string_view>

namespace etna::server {
namespace {

HttpReply state_reply(int status, std::string_view state) {
    return {.status = status, .body = dump_json({{"status", state}}) + "\n"};
}

/// As llama.cpp's server while it loads its model: today's form, and the status of older versions.
HttpReply loading_reply() {
    constexpr int unavailable = 503;
    const Json error = {{"code", unavailable}, {"message", loading_message}, {"type", "unavailable_error"}};
    return {.status = unavailable, .body = dump_json({{"error", error}, {"status", "loading model"}}) + "\n"};
}

/// GET /live.
ApiResult<HttpReply> show_liveness(const OperatorServices& /*services*/, const HttpRequest& /*request*/,
                                   const RoutedRequest& /*routed*/) {
    return state_reply(200, "ok");
}

/// GET /ready and /health: 200, or 503 with the reason. Warns if the store is in memory because its file
/// could not be opened.
ApiResult<HttpReply> show_readiness(const OperatorServices& services, const HttpRequest& /*request*/,
                                    const RoutedRequest& /*routed*/) {
    switch (services.state.load()) {
    case ServiceState::loading:
        return loading_reply();
    case ServiceState::draining:
        return state_reply(503, "draining");
    case ServiceState::ready:
        break;
    }
    Json state = {{"status", "ok"}};
    if (services.persistence.is_memory_fallback) {
        state["warning"] =
            "responses are kept in memory only, until the server ends: their file could not be "
            "opened; another server probably uses it";
    }
    return HttpReply{.body = dump_json(state) + "\n"};
}

/// GET /load.
ApiResult<HttpReply> show_load(const OperatorServices& services, const HttpRequest& /*request*/,
                               const RoutedRequest& /*routed*/) {
    return HttpReply{.body = dump_json({{"server_load", services.metrics.in_flight()}}) + "\n"};
}

/// GET /version.
ApiResult<HttpReply> show_version(const OperatorServices& /*services*/, const HttpRequest& /*request*/,
                                  const RoutedRequest& /*routed*/) {
    return HttpReply{.body = dump_json({{"version", ETNA_VERSION}}) + "\n"};
}

/// Programs that are no browser, and all without the page, get the plain front page.
ApiResult<HttpReply> show_front_page(const OperatorServices& services, const HttpRequest& request,
                                     const RoutedRequest& /*routed*/) {
    if (services.options.has_page && page::is_from_browser(request))
        return page::show_document(request);
    return HttpReply{.headers = {{"content-security-policy", "default-src 'none'"}},
                     .content_type = "text/html; charset=utf-8",
                     .body = std::string(front_page())};
}

ApiResult<HttpReply> show_openapi(const OperatorServices& services, const HttpRequest& /*request*/,
                                  const RoutedRequest& /*routed*/) {
    return HttpReply{.body = openapi_document(all_routes(services.options))};
}

ApiResult<HttpReply> show_metrics(const OperatorServices& services, const HttpRequest& /*request*/,
                                  const RoutedRequest& /*routed*/) {
    const auto readings = metric_readings(services.models, services.kv_events, services.exporter);
    return HttpReply{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                     .body = services.metrics.text(readings)};
}

} // namespace

std::vector<RouteOf<const OperatorServices>> operator_routes() {
    constexpr RouteAccess open = RouteAccess::open;
    return {
        {"GET", "/health", "readiness", show_readiness, open},
        {"GET", "/v1/health", "readiness", show_readiness, open},
        {"GET", "/ready", "readiness", show_readiness, open},
        {"GET", "/ping", "readiness, in vLLM's API", show_readiness, open},
        {"POST", "/ping", "readiness, in vLLM's API", show_readiness, open},
        {"GET", "/live", "liveness", show_liveness, open},
        {"GET", "/load", "the number of running requests, in vLLM's API", show_load},
        {"GET", "/version", "the server's version, in vLLM's API", show_version},
        {"GET", "/metrics", "metrics for Prometheus", show_metrics},
        {"GET", "/", "the web page for browsers, a front page for others", show_front_page, open},
        {"GET", "/openapi.json", "these routes as an OpenAPI document", show_openapi},
    };
}

} // namespace etna::server
