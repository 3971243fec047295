#pragma once

#include "server/observe/answer_log.hpp"

#include <cstdint>
#include <string>
#include <string_view>

// Formats timestamped log lines. Only prompt_line() contains prompts.
namespace etna::server {

enum class LogFormat : uint8_t {
    text,
    json, ///< one object per line
};

/// The outcome of a request: "ok"; "cancelled" if the client disconnected (status 499); "error".
std::string_view outcome_of(int final_status);

/// The log record of an answered request.
struct RequestSummary {
    std::string_view method;
    std::string_view path;
    std::string_view route = {}; ///< the pattern that the path matches; empty: none
    int status = 200;            ///< the status sent to the client
    double elapsed_ms = 0;
    std::string_view remote_address;
    std::string_view request_id;
    AnswerLog answer = {};
    std::string_view problem = {}; ///< why the request was refused before it reached an endpoint; one line
};

std::string request_line(LogFormat format, const RequestSummary& request);

/// The end of a background response, whose request has already been answered.
std::string background_line(LogFormat format, std::string_view request_id, const AnswerLog& answer);

/// A server event.
std::string event_line(LogFormat format, std::string_view message);

/// An event that may need action by the operator.
std::string warning_line(LogFormat format, std::string_view message);

/// The prompt given to a model; logged only if the operator enabled it.
std::string prompt_line(LogFormat format, std::string_view request_id, std::string_view prompt);

} // namespace etna::server
