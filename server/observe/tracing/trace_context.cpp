#include "server/observe/tracing/trace_context.hpp"

#include <algorithm>

namespace etna::server::tracing {
namespace {

bool is_hex(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
    return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

/// Returns the value of two hexadecimal digits.
unsigned byte_of(std::string_view digits) {
    const auto value = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
    return value(digits[0]) * 16 + value(digits[1]);
}

} // namespace

std::optional<TraceContext> parse_traceparent(std::string_view header) {
    constexpr std::size_t length = 55; // 00-<32>-<16>-<2>; later versions may append a dash and more fields
    constexpr unsigned sampled_flag = 1;
    if (header.size() < length || header[2] != '-' || header[35] != '-' || header[52] != '-')
        return std::nullopt;
    const std::string_view version = header.substr(0, 2);
    const std::string_view trace_id = header.substr(3, 32);
    const std::string_view parent_id = header.substr(36, 16);
    const std::string_view flags = header.substr(53, 2);
    const bool has_more = header.size() > length;
    if (!is_hex(version) || version == "ff" || !is_id(trace_id) || !is_id(parent_id) || !is_hex(flags) ||
        (has_more && (version == "00" || header[length] != '-')))
        return std::nullopt;
    return TraceContext{.trace_id = std::string(trace_id),
                        .parent_id = std::string(parent_id),
                        .is_sampled = (byte_of(flags) & sampled_flag) != 0};
}

} // namespace etna::server::tracing
