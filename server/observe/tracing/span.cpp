#include "server/observe/tracing/span.hpp"

#include "core/base/utf8.hpp"
#include "server/base/ids.hpp"
#include "server/base/json.hpp"
#include "server/observe/tracing/trace_context.hpp"

#include <fmt/format.h>

namespace etna::server::tracing {
namespace {

constexpr std::size_t trace_id_bytes = 16;
constexpr std::size_t span_id_bytes = 8;
constexpr double ns_per_ms = 1e6;
constexpr double ms_per_s = 1e3;

/// Paths and model names come from clients and may be long.
std::string bounded(std::string_view text) {
    constexpr std::size_t bytes_max = 256;
    return repaired_utf8(text.substr(0, bytes_max));
}

uint64_t after(uint64_t begin_ns, double ms) {
    return begin_ns + static_cast<uint64_t>(ms * ns_per_ms);
}

Span request_span(const RequestSummary& request, uint64_t begin_unix_ns) {
    const AnswerLog& answer = request.answer;
    const int status = answer.final_status.value_or(request.status);
    Span span = {.trace_id = {},
                 .id = random_hex(span_id_bytes),
                 .name = fmt::format("{} {}", bounded(request.method), request.route),
                 .is_of_server = true,
                 .begin_unix_ns = begin_unix_ns,
                 .end_unix_ns = after(begin_unix_ns, request.elapsed_ms),
                 .attributes = {{"http.request.method", bounded(request.method)},
                                {"http.route", std::string(request.route)},
                                {"url.path", bounded(request.path)},
                                {"http.response.status_code", int64_t{status}},
                                {"client.address", std::string(request.remote_address)},
                                {"gen_ai.request.id", std::string(request.request_id)}}};
    if (!answer.model.empty())
        span.attributes.emplace_back("gen_ai.request.model", bounded(answer.model));
    if (answer.prompt_tokens)
        span.attributes.emplace_back("gen_ai.usage.input_tokens", int64_t{*answer.prompt_tokens});
    if (answer.completion_tokens)
        span.attributes.emplace_back("gen_ai.usage.output_tokens", int64_t{*answer.completion_tokens});
    if (!answer.error.empty())
        span.attributes.emplace_back("error.type", answer.error);
    constexpr int first_server_error = 500;
    if (status >= first_server_error)
        span.error = answer.error.empty() ? fmt::format("status {}", status) : answer.error;
    return span;
}

/// Adds the phases of an answer; each starts where the previous one ends.
void add_phases(std::vector<Span>& spans, const AnswerTimes& times) {
    const Span request = spans.front();
    uint64_t begin = after(request.begin_unix_ns, times.before_queue_ms);
    const auto add = [&](const char* name, double ms) {
        spans.push_back({.trace_id = request.trace_id,
                         .id = random_hex(span_id_bytes),
                         .parent_id = request.id,
                         .name = name,
                         .begin_unix_ns = begin,
                         .end_unix_ns = after(begin, ms)});
        begin = spans.back().end_unix_ns;
    };
    add("queue", times.queue_ms);
    add("prefill", times.prefill_ms);
    add("decode", times.decode_ms);
    const double first_token_ms = times.before_queue_ms + times.queue_ms + times.prefill_ms;
    for (const auto& [name, ms] : {std::pair("gen_ai.latency.time_in_queue", times.queue_ms),
                                   std::pair("gen_ai.latency.time_to_first_token", first_token_ms),
                                   std::pair("gen_ai.latency.time_in_model_prefill", times.prefill_ms),
                                   std::pair("gen_ai.latency.time_in_model_decode", times.decode_ms),
                                   std::pair("gen_ai.latency.e2e", first_token_ms + times.decode_ms)})
        spans.front().attributes.emplace_back(name, ms / ms_per_s);
}

Json json_of(const Span::Value& value) {
    if (const auto* text = std::get_if<std::string>(&value))
        return {{"stringValue", *text}};
    if (const auto* number = std::get_if<int64_t>(&value))
        return {{"intValue", std::to_string(*number)}}; // 64-bit integers are strings
    return {{"doubleValue", std::get<double>(value)}};
}

Json json_of(const Span& span) {
    constexpr int kind_internal = 1;
    constexpr int kind_server = 2;
    constexpr int status_error = 2;
    constexpr int sampled_flag = 1;
    Json json = {{"traceId", span.trace_id},
                 {"spanId", span.id},
                 {"flags", sampled_flag},
                 {"name", span.name},
                 {"kind", span.is_of_server ? kind_server : kind_internal},
                 {"startTimeUnixNano", std::to_string(span.begin_unix_ns)},
                 {"endTimeUnixNano", std::to_string(span.end_unix_ns)},
                 {"attributes", Json::array()}};
    if (!span.parent_id.empty())
        json["parentSpanId"] = span.parent_id;
    for (const auto& [name, value] : span.attributes)
        json["attributes"].push_back({{"key", name}, {"value", json_of(value)}});
    if (!span.error.empty())
        json["status"] = {{"code", status_error}, {"message", span.error}};
    return json;
}

} // namespace

std::vector<Span> spans_of(const RequestSummary& request, std::string_view traceparent,
                           uint64_t begin_unix_ns) {
    const auto context = parse_traceparent(traceparent);
    if (context && !context->is_sampled)
        return {};
    std::vector<Span> spans = {request_span(request, begin_unix_ns)};
    spans.front().trace_id = context ? context->trace_id : random_hex(trace_id_bytes);
    spans.front().parent_id = context ? context->parent_id : "";
    if (request.answer.times)
        add_phases(spans, *request.answer.times);
    return spans;
}

std::string otlp_json(const std::vector<Span>& spans, std::string_view instance) {
    const auto attribute = [](const char* name, std::string_view value) -> Json {
        return {{"key", name}, {"value", {{"stringValue", value}}}};
    };
    Json list = Json::array();
    for (const Span& span : spans)
        list.push_back(json_of(span));
    const Json resource = {{"attributes",
                            {attribute("service.name", "etna"), attribute("service.version", ETNA_VERSION),
                             attribute("service.instance.id", instance)}}};
    const Json scope = {{"name", "etna"}, {"version", ETNA_VERSION}};
    return dump_json({{"resourceSpans",
                       {{{"resource", resource}, {"scopeSpans", {{{"scope", scope}, {"spans", list}}}}}}}});
}

} // namespace etna::server::tracing
