#pragma once

#include "server/api/request_context.hpp"
#include "server/api_error.hpp"
#include "server/http/http.hpp"
#include "server/service.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server {

/// The message of a 503 before the server is ready, as llama.cpp's.
constexpr std::string_view loading_message = "Loading model";

/// Converts an error to a response in the format of an API.
using WriteError = HttpReply (*)(const HttpRequest& request, const ApiError& error);

/// The format of OpenAI's API, see reply_of().
HttpReply write_openai_error(const HttpRequest& request, const ApiError& error);

/// Facts about a request that the router has determined.
struct Call {
    std::string request_id;
    std::vector<std::string> path_values; ///< the values of the path's parameters in braces
    WriteError write_error = write_openai_error;
    api::Dialect dialect = api::Dialect::openai;
    std::string_view traced_route =
        {}; ///< the path's pattern, the router's; empty: the request is not traced
};

using Endpoint = ApiResult<HttpReply> (*)(Service& service, const HttpRequest& request, const Call& call);

/// Whether a route requires an API key and a ready server.
enum class RouteAccess : uint8_t {
    guarded,
    open,       ///< neither; answered even if all handlers are busy, as a health check
    open_large, ///< neither; not by the handlers for health checks, because a slow client could hold them
};

/// The body that a route takes.
enum class BodyKind : uint8_t { json, form };

struct Route {
    std::string method;
    std::string path; ///< {name} matches one path segment; {model} and {file} at the end, all remaining ones
    std::string summary;
    Endpoint endpoint = nullptr;
    RouteAccess access = RouteAccess::guarded;
    api::Dialect dialect = api::Dialect::openai;
    std::string metric_name = {}; ///< its endpoint label in the metrics; empty: its path
    WriteError write_error = write_openai_error;
    std::optional<ApiError> (*check_headers)(const HttpRequest& request) = nullptr; ///< of the API; or null
    BodyKind body_kind = BodyKind::json;
    std::string_view api = {}; ///< ApiSummary::name; empty: the operator's
};

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
    struct Notes {
        std::string metric_name;  ///< that of the route; an unknown path is client input, and never a label
        std::string problem;      ///< for the log: a problem that the operator can act on
        std::string traced_route; ///< the path's pattern; empty: the request is not traced
    };
    [[nodiscard]] HttpReply route(const HttpRequest& request, Call& call, Notes& notes) const;
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
