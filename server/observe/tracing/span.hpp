#pragma once

#include "server/observe/log_line.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace etna::server::tracing {

/// A period of work on a request. Source: OpenTelemetry's trace.proto.
struct Span {
    using Value = std::variant<std::string, int64_t, double>;

    std::string trace_id;       ///< 32 hexadecimal digits
    std::string id;             ///< 16 hexadecimal digits
    std::string parent_id = {}; ///< 16 hexadecimal digits; empty: none
    std::string name;
    bool is_of_server = false; ///< kind SERVER; else INTERNAL
    uint64_t begin_unix_ns = 0;
    uint64_t end_unix_ns = 0;
    std::vector<std::pair<std::string_view, Value>> attributes = {}; ///< names are literals
    std::string error = {};                                          ///< empty: none
};

/// Returns the spans of a request that was answered: one for the request and, if tokens were generated, its
/// children `queue`, `prefill` and `decode`. Returns no spans if the caller does not sample the trace.
/// `traceparent`: the header's value. Attribute names follow OpenTelemetry's semantic conventions, and vLLM
/// for latencies.
std::vector<Span> spans_of(const RequestSummary& request, std::string_view traceparent,
                           uint64_t begin_unix_ns);

/// Returns the body of an export request in OTLP's JSON encoding. `instance`: the service.instance.id.
std::string otlp_json(const std::vector<Span>& spans, std::string_view instance);

} // namespace etna::server::tracing
