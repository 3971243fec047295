#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Lines for the operator, each with its time. They hold nothing that users wrote, but for prompt_line().
namespace etna::server {

enum class LogFormat : uint8_t {
    text,
    json, ///< an object to a line
};

/// A request that has been answered.
struct RequestSummary {
    std::string_view method;
    std::string_view path;
    int status = 200;
    double elapsed_ms = 0;
    std::string_view remote_address;
    std::string_view request_id;
};

std::string request_line(LogFormat format, const RequestSummary& request);

/// Something that happened to the server.
std::string event_line(LogFormat format, std::string_view message);

/// What a model was given; for operators who asked for it.
std::string prompt_line(LogFormat format, std::string_view request_id, std::string_view prompt);

} // namespace etna::server
