#pragma once

#include "server/http.hpp"
#include "server/openai/generation_fields.hpp"
#include "server/service.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server {

/// What the router found out about a request.
struct Call {
    std::string request_id;
    std::vector<std::string> path_values; ///< what stands for the names in braces of the path
    openai::Dialect dialect = openai::Dialect::openai;
};

using Endpoint = HttpReply (*)(Service& service, const HttpRequest& request, const Call& call);

/// Whether a route needs a key, and a server that is ready.
enum class RouteAccess : uint8_t { guarded, open };

struct Route {
    std::string method;
    std::string path; ///< {name} is one part of a path; at the end, all the rest
    std::string summary;
    Endpoint endpoint = nullptr;
    RouteAccess access = RouteAccess::guarded;
    openai::Dialect dialect = openai::Dialect::openai;
    std::string figure = {}; ///< what it is called in the figures; empty: by its path
};

/// Finds the endpoint of a request, after what every request has to pass: origin, key, readiness.
/// Thread-safe.
class Router {
public:
    Router(Service& service, std::vector<Route> routes) : service_(&service), routes_(std::move(routes)) {}

    /// Errors as answers: 403, 401, 404, 405, 415, 503 with the reason; one is that there is no memory.
    [[nodiscard]] HttpReply answer(const HttpRequest& request) const;

    /// Whether the request asks how the server does: for a route that is open.
    [[nodiscard]] bool is_vital(const HttpRequest& request) const;

    [[nodiscard]] const std::vector<Route>& routes() const { return routes_; }

private:
    /// What is noted of a request beside its answer.
    struct Notes {
        std::string figure;  ///< of the route; a path that is none is a client's text, and no label
        std::string problem; ///< for the log: what the operator can do something about
    };
    [[nodiscard]] HttpReply route(const HttpRequest& request, Call& call, Notes& notes) const;
    [[nodiscard]] std::optional<ApiError> check_state() const;

    Service* service_; ///< borrowed
    std::vector<Route> routes_;
};

/// The values that stand for the pattern's names in braces; empty where the path does not match. None of them
/// is empty, and none but the value of a {model} at the end has slashes in it.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path);

} // namespace etna::server
