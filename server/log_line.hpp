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

/// What became of a request, in a word: "ok"; "cancelled" where the client left (status 499); "error".
std::string_view outcome_of(int final_status);

/// A request that has been answered.
struct RequestSummary {
    std::string_view method;
    std::string_view path;
    int status = 200; ///< that the client saw
    /// What it came to: differs where a stream failed after its head, or the client left.
    int final_status = 200;
    double elapsed_ms = 0;
    std::string_view remote_address;
    std::string_view request_id;
    std::string_view problem = {}; ///< of one that was refused before any endpoint saw it; one line
};

std::string request_line(LogFormat format, const RequestSummary& request);

/// Something that happened to the server.
std::string event_line(LogFormat format, std::string_view message);

/// What a model was given; for operators who asked for it.
std::string prompt_line(LogFormat format, std::string_view request_id, std::string_view prompt);

} // namespace etna::server
