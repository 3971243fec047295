#pragma once

#include "server/api/error_reply.hpp"
#include "server/api/request_context.hpp"
#include "server/api/service.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server {

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

} // namespace etna::server
