#include "server/app/router.hpp"

#include "server/http/request_id.hpp"
#include "server/observe/load_report.hpp"
#include "server/observe/tracing/span_exporter.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server {
namespace {

using Clock = std::chrono::steady_clock;

/// The log line of a request, written after it has been answered.
class RequestLogEntry {
public:
    RequestLogEntry(Service& service, const HttpRequest& request, std::string request_id)
        : service_(&service), method_(request.method), path_(request.path),
          remote_address_(request.remote_address), request_id_(std::move(request_id)),
          traceparent_(service.exporter == nullptr ? "" : request.header("traceparent")) {}

    /// `problem`: why it was refused; empty if the operator cannot act on it. `traced_route`: empty if the
    /// request is not traced. Adds the request to the journal.
    void write(int status, const AnswerLog& answer, std::string_view problem,
               std::string_view traced_route) const {
        const RequestSummary summary = {
            .method = method_,
            .path = path_,
            .route = traced_route,
            .status = status,
            .elapsed_ms = std::chrono::duration<double, std::milli>(Clock::now() - began_).count(),
            .remote_address = remote_address_,
            .request_id = request_id_,
            .answer = answer,
            .problem = problem};
        service_->log(request_line(service_->options.log_format, summary));
        service_->journal.add(summary, began_unix_ns_);
        if (service_->exporter != nullptr && !traced_route.empty())
            service_->exporter->add(tracing::spans_of(summary, traceparent_, began_unix_ns_));
    }

private:
    Service* service_; ///< borrowed
    std::string method_, path_, remote_address_, request_id_, traceparent_;
    Clock::time_point began_ = Clock::now();
    uint64_t began_unix_ns_ = static_cast<uint64_t>(
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
};

/// Returns the path with each run of slashes as one: clients join base URLs that end in a slash with paths
/// that begin with one.
std::string with_single_slashes(std::string_view path) {
    std::string single(path);
    const auto end = std::unique(single.begin(), single.end(),
                                 [](char first, char second) { return first == '/' && second == '/'; });
    single.erase(end, single.end());
    return single;
}

bool accepts(const Route& route, std::string_view method) {
    return route.method == method || (route.method == "GET" && method == "HEAD");
}

/// Bodies are parsed as JSON regardless of their content type, because `curl -d` sends another; types and
/// encodings that cannot be JSON are refused.
std::optional<ApiError> check_body_kind(const HttpRequest& request, BodyKind kind) {
    const std::string encoding = to_lower(request.header("content-encoding"));
    if (!encoding.empty() && encoding != "identity") {
        return ApiError{.status = 415,
                        .message = fmt::format("unsupported Content-Encoding {}; send the body unencoded",
                                               header_value(encoding)),
                        .code = "unsupported_content_encoding"};
    }
    if (kind == BodyKind::json && to_lower(request.header("content-type")).starts_with("multipart/")) {
        return ApiError{.status = 415,
                        .message = "the body must be JSON: multipart/form-data is not supported",
                        .code = "unsupported_content_type"};
    }
    return std::nullopt;
}

} // namespace

std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
    std::vector<std::string> values;
    for (std::size_t open = pattern.find('{'); open != std::string_view::npos; open = pattern.find('{')) {
        if (path.substr(0, open) != pattern.substr(0, open))
            return std::nullopt;
        path.remove_prefix(open);
        const std::size_t close = pattern.find('}');
        const std::string_view parameter = pattern.substr(open, close + 1 - open);
        const bool has_slashes = parameter == "{model}" || parameter == "{file}";
        pattern.remove_prefix(close + 1);
        const std::string_view value = has_slashes ? path : path.substr(0, path.find('/'));
        if (value.empty())
            return std::nullopt;
        values.emplace_back(value);
        path.remove_prefix(value.size());
    }
    return pattern == path ? std::optional(std::move(values)) : std::nullopt;
}

HttpReply Router::answer(const HttpRequest& request) const {
    RoutedRequest routed = {
        .request_id = request_id_of(request), .path_values = {}, .write_error = write_unrouted_};
    const RequestLogEntry entry(*service_, request, routed.request_id);
    RouteNotes notes;
    HttpReply reply = route(request, routed, notes);
    constexpr int first_error = 400;
    if (!reply.is_counted && reply.status >= first_error)
        service_->metrics.refuse(notes.metric_name, reply.status);
    reply.headers.emplace("x-request-id", routed.request_id);
    reply.headers.merge(cors_headers(service_->options.access, request));
    report_load(request, reply);
    if (reply.is_background)
        notes.traced_route.clear();
    if (!reply.is_logged)
        return reply;
    const auto write_entry = [entry, status = reply.status, log = std::move(reply.log),
                              final_log = std::move(reply.final_log), problem = std::move(notes.problem),
                              traced_route = std::move(notes.traced_route)] {
        entry.write(status, final_log ? final_log() : log, problem, traced_route);
    };
    if (!reply.stream || request.method == "HEAD") { // the stream is not run
        write_entry();
        return reply;
    }
    reply.stream = [stream = std::move(reply.stream), write_entry](HttpWriter& writer) {
        stream(writer);
        write_entry();
    };
    return reply;
}

bool Router::is_health_check(const HttpRequest& request) const {
    const std::string path = with_single_slashes(request.path);
    return std::any_of(routes_.begin(), routes_.end(), [&](const Route& route) {
        return route.access == RouteAccess::open && accepts(route, request.method) && match(route.path, path);
    });
}

HttpReply Router::route(const HttpRequest& request, RoutedRequest& routed, RouteNotes& notes) const {
    if (const auto refused = check_origin(service_->options.access, request)) {
        notes.problem = refused->message;
        return routed.write_error(request, *refused);
    }
    if (request.method == "OPTIONS" && !request.header("access-control-request-method").empty())
        return {.status = 204};
    std::set<std::string> methods;
    const std::string path = with_single_slashes(request.path);
    for (const Route& route : routes_) {
        auto values = match(route.path, path);
        if (!values)
            continue;
        methods.insert(route.method);
        routed.write_error = route.write_error;
        notes.metric_name = route.metric_name.empty() ? route.path : route.metric_name;
        if (route.method == "GET")
            methods.insert("HEAD");
        if (!accepts(route, request.method))
            continue;
        if (const auto refused = route.check_headers == nullptr ? std::nullopt : route.check_headers(request))
            return route.write_error(request, *refused);
        if (route.access == RouteAccess::guarded) {
            if (const auto refused = check_key(service_->options.access, request))
                return route.write_error(request, *refused);
            if (const auto refused = check_state())
                return route.write_error(request, *refused);
        }
        notes.traced_route = route.api.empty() ? "" : route.path; // probes and scrapes are not traced
        if (const auto refused = check_body_kind(request, route.body_kind))
            return route.write_error(request, *refused);
        routed.path_values = std::move(*values);
        routed.dialect = route.dialect;
        routed.traced_route = route.api.empty() ? "" : std::string_view(route.path);
        try {
            auto result = route.endpoint(*service_, request, routed);
            HttpReply reply = result ? std::move(result).value() : route.write_error(request, result.error());
            constexpr int anthropics_503 = 529;
            const bool is_refused = reply.status == 503 || reply.status == anthropics_503;
            if (is_refused && request.memory != nullptr && request.memory->is_too_large())
                return route.write_error(request, too_large_for_memory());
            return reply;
        } catch (const std::bad_alloc&) { // the endpoint's memory has been freed
            return route.write_error(request, no_memory());
        }
    }
    if (methods.empty()) {
        return routed.write_error(
            request,
            {.status = 404, .message = fmt::format("unknown URL: {}", request.path), .code = "unknown_url"});
    }
    HttpReply reply = routed.write_error(
        request, {.status = 405,
                  .message = fmt::format("{} accepts only {}", request.path, fmt::join(methods, " and ")),
                  .code = "method_not_allowed"});
    reply.headers["allow"] = fmt::format("{}", fmt::join(methods, ", "));
    return reply;
}

/// Adds the load of the model that answers, if the request asks for it. An unknown format adds nothing, as in
/// vLLM: it does not fail the request.
void Router::report_load(const HttpRequest& request, HttpReply& reply) const {
    const std::string_view format = request.header(load_format_header);
    if (format.empty() || reply.log.model.empty())
        return;
    const Models::Handle model = service_->models.find_loaded(reply.log.model);
    const auto stats = model == nullptr ? engine::EngineStats{} : model->engine().load();
    std::string text = load_report_text(format, load_report(stats));
    if (!text.empty())
        reply.headers[std::string(load_report_header)] = std::move(text);
}

std::optional<ApiError> Router::check_state() const {
    constexpr int retry_s = 2;
    const ServiceState state = service_->state;
    if (state == ServiceState::ready)
        return std::nullopt;
    return ApiError{.status = 503,
                    .message = state == ServiceState::loading ? std::string(loading_message)
                                                              : "the server is shutting down",
                    .type = "server_error",
                    .code = state == ServiceState::loading ? "loading" : "draining",
                    .retry_after_s = retry_s};
}

} // namespace etna::server
