#pragma once

#include "server/http.hpp"

#include <cstdint>
#include <string>
#include <string_view>

// Lines for the operator, each with its time. Only prompt_line() holds prompts.
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
    double elapsed_ms = 0;
    std::string_view remote_address;
    std::string_view request_id;
    AnswerLog answer = {};
    std::string_view problem = {}; ///< of one that was refused before any endpoint saw it; one line
};

std::string request_line(LogFormat format, const RequestSummary& request);

/// The end of a response that was made in the background, after its request was answered.
std::string background_line(LogFormat format, std::string_view request_id, const AnswerLog& answer);

/// Something that happened to the server.
std::string event_line(LogFormat format, std::string_view message);

/// The same of something that the operator may have to act on.
std::string warning_line(LogFormat format, std::string_view message);

/// What a model was given; for operators who asked for it.
std::string prompt_line(LogFormat format, std::string_view request_id, std::string_view prompt);

} // namespace etna::server
