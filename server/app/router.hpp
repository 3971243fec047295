#pragma once

#include "server/api/route.hpp"
#include "server/app/service.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server {

/// The message of a 503 before the server is ready, as llama.cpp's.
constexpr std::string_view loading_message = "Loading model";

using Route = RouteOf<Service>;

/// Dispatches requests to endpoints, after the checks common to all: origin, key, readiness. Thread-safe.
class Router {
public:
    /// `write_unrouted`: for errors before the route is known.
    Router(Service& service, std::vector<Route> routes, WriteError write_unrouted = write_openai_error)
        : service_(&service), routes_(std::move(routes)), write_unrouted_(write_unrouted) {}

    /// A run of slashes in the path counts as one. Errors are returned as responses: 403, 401, 404, 405, 415,
    /// 503 with the reason, out of memory included.
    [[nodiscard]] HttpReply answer(const HttpRequest& request) const;

    /// Whether the request is a health check: its route is RouteAccess::open.
    [[nodiscard]] bool is_health_check(const HttpRequest& request) const;

    [[nodiscard]] const std::vector<Route>& routes() const { return routes_; }

private:
    /// Facts about a request to record in addition to its response.
    struct RouteNotes {
        std::string metric_name;  ///< that of the route; an unknown path is client input, and never a label
        std::string problem;      ///< for the log: a problem that the operator can act on
        std::string traced_route; ///< the path's pattern; empty: the request is not traced
    };
    [[nodiscard]] HttpReply route(const HttpRequest& request, RoutedRequest& routed, RouteNotes& notes) const;
    [[nodiscard]] std::optional<ApiError> check_state() const;
    void report_load(const HttpRequest& request, HttpReply& reply) const;

    Service* service_; ///< borrowed
    std::vector<Route> routes_;
    WriteError write_unrouted_;
};

/// The values of the pattern's parameters in braces; empty if the path does not match. No value is empty, and
/// only that of a {model} or {file} at the end may contain slashes.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path);

} // namespace etna::server
