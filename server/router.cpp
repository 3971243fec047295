#include "server/router.hpp"

#include "server/ids.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server {
namespace {

constexpr std::string_view parameter = "{id}";

/// A client's own id is taken over if it is one line of visible letters.
std::string request_id_of(const HttpRequest& request) {
    constexpr std::size_t length_max = 128;
    const std::string_view given = request.header("x-request-id");
    const bool is_good =
        !given.empty() && given.size() <= length_max &&
        std::all_of(given.begin(), given.end(), [](char letter) { return letter > ' ' && letter <= '~'; });
    return is_good ? std::string(given) : new_uuid();
}

using Clock = std::chrono::steady_clock;

void log_request(const Service& service, const HttpRequest& request, const Call& call, int status,
                 Clock::time_point begin) {
    const double elapsed_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    service.log(request_line(service.options.log_format, {.method = request.method,
                                                          .path = request.path,
                                                          .status = status,
                                                          .elapsed_ms = elapsed_ms,
                                                          .remote_address = request.remote_address,
                                                          .request_id = call.request_id}));
}

} // namespace

std::optional<std::string> match(std::string_view pattern, std::string_view path) {
    if (!pattern.ends_with(parameter))
        return pattern == path ? std::optional<std::string>("") : std::nullopt;
    const std::string_view head = pattern.substr(0, pattern.size() - parameter.size());
    if (!path.starts_with(head) || path.size() == head.size())
        return std::nullopt;
    return std::string(path.substr(head.size()));
}

HttpReply Router::answer(const HttpRequest& request) const {
    const auto begin = Clock::now();
    Call call = {.request_id = request_id_of(request), .path_value = {}};
    HttpReply reply = route(request, call);
    reply.headers.emplace("x-request-id", call.request_id);
    reply.headers.merge(cors_headers(service_->options.access, request));
    if (!reply.stream) {
        log_request(*service_, request, call, reply.status, begin);
        return reply;
    }
    reply.stream = [this, stream = std::move(reply.stream), call, begin, status = reply.status,
                    head = HttpRequest{.method = request.method,
                                       .path = request.path,
                                       .remote_address = request.remote_address}](HttpWriter& writer) {
        stream(writer);
        log_request(*service_, head, call, status, begin);
    };
    return reply;
}

HttpReply Router::route(const HttpRequest& request, Call& call) const {
    if (const auto refused = check_origin(service_->options.access, request))
        return reply_of(*refused);
    if (request.method == "OPTIONS" && !request.header("access-control-request-method").empty())
        return {.status = 204};
    std::set<std::string> methods;
    for (const Route& route : routes_) {
        auto value = match(route.path, request.path);
        if (!value)
            continue;
        methods.insert(route.method);
        if (route.method != request.method && !(route.method == "GET" && request.method == "HEAD"))
            continue;
        if (route.access == RouteAccess::guarded) {
            if (const auto refused = check_key(service_->options.access, request))
                return reply_of(*refused);
            if (const auto refused = check_state())
                return reply_of(*refused);
        }
        call.path_value = std::move(*value);
        call.dialect = route.dialect;
        return route.endpoint(*service_, request, call);
    }
    if (methods.empty())
        return reply_of({.status = 404,
                         .message = fmt::format("there is nothing at {}", request.path),
                         .code = "unknown_url"});
    HttpReply reply =
        reply_of({.status = 405,
                  .message = fmt::format("{} takes {} only", request.path, fmt::join(methods, " and ")),
                  .code = "method_not_allowed"});
    reply.headers["allow"] = fmt::format("{}", fmt::join(methods, ", "));
    return reply;
}

std::optional<ApiError> Router::check_state() const {
    constexpr int retry_s = 2;
    const ServiceState state = service_->state;
    if (state == ServiceState::ready)
        return std::nullopt;
    return ApiError{.status = 503,
                    .message = state == ServiceState::starting ? "the server is starting"
                                                               : "the server is shutting down",
                    .type = "server_error",
                    .code = state == ServiceState::starting ? "starting" : "draining",
                    .retry_after_s = retry_s};
}

} // namespace etna::server
