#pragma once

#include "server/api/error_reply.hpp"
#include "server/api/reply.hpp"
#include "server/api/request_context.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::server {

/// Facts about a request that the router has determined.
struct RoutedRequest {
    std::string request_id;
    std::vector<std::string> path_values; ///< the values of the path's parameters in braces
    WriteError write_error = write_openai_error;
    api::Dialect dialect = api::Dialect::openai;
    std::string_view traced_route =
        {}; ///< the path's pattern, the router's; empty: the request is not traced
};

/// Whether a route requires an API key and a ready server.
enum class RouteAccess : uint8_t {
    guarded,
    open,       ///< neither; answered even if all handlers are busy, as a health check
    open_large, ///< neither; not by the handlers for health checks, because a slow client could hold them
};

/// The body that a route takes.
enum class BodyKind : uint8_t { json, form };

/// A route whose endpoint is given `Services`: those that its floor uses.
template <class Services>
struct RouteOf {
    /// Thread-safe. Blocks until the reply is known; a stream of it runs later.
    using Endpoint = std::function<ApiResult<HttpReply>(Services& services, const HttpRequest& request,
                                                        const RoutedRequest& routed)>;

    std::string method;
    std::string path; ///< {name} matches one path segment; {model} and {file} at the end, all remaining ones
    std::string summary;
    Endpoint endpoint = {};
    RouteAccess access = RouteAccess::guarded;
    api::Dialect dialect = api::Dialect::openai;
    std::string metric_name = {}; ///< its endpoint label in the metrics; empty: its path
    WriteError write_error = write_openai_error;
    std::optional<ApiError> (*check_headers)(const HttpRequest& request) = nullptr; ///< of the API; or null
    BodyKind body_kind = BodyKind::json;
    std::string_view api = {}; ///< ApiSummary::name; empty: the operator's
};

/// Appends routes that count as `metric_name`.
template <class Services>
void add_routes(std::vector<RouteOf<Services>>& routes, std::string_view metric_name,
                std::vector<RouteOf<Services>> group) {
    for (RouteOf<Services>& route : group) {
        route.metric_name = metric_name;
        routes.push_back(std::move(route));
    }
}

/// The same for the paths under each root of OpenAI's API: /v1, none, and /v3, which is OpenVINO's.
template <class Services>
void add_under_roots(std::vector<RouteOf<Services>>& routes, std::string_view metric_name,
                     const std::vector<RouteOf<Services>>& group) {
    for (const std::string_view root : {"/v1", "", "/v3"}) {
        for (RouteOf<Services> route : group) {
            route.path.insert(0, root);
            route.metric_name = metric_name;
            if (root == "/v3")
                route.dialect = api::Dialect::ovms;
            routes.push_back(std::move(route));
        }
    }
}

} // namespace etna::server
