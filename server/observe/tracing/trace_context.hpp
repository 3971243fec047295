#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace etna::server::tracing {

/// The position of a request in its caller's trace.
struct TraceContext {
    std::string trace_id;  ///< 32 hexadecimal digits
    std::string parent_id; ///< 16 hexadecimal digits; the caller's span
    bool is_sampled = true;
};

/// Parses the header `traceparent`. Empty if it is absent or malformed; a new trace starts then. Source: W3C
/// Trace Context, section 3.2.
std::optional<TraceContext> parse_traceparent(std::string_view header);

} // namespace etna::server::tracing
