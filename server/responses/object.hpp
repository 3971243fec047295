#pragma once

#include "server/json.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace etna::server::responses {

enum class ResponseStatus : uint8_t { queued, in_progress, completed, incomplete, failed, cancelled };

std::string_view to_string(ResponseStatus status);

/// What is told of a response.
struct Response {
    std::string id; ///< "resp_..."
    int64_t created_unix_s = 0;
    std::optional<int64_t> completed_unix_s = {};
    std::string model;
    ResponseStatus status = ResponseStatus::in_progress;
    Json told = Json::object(); ///< the members that repeat the request
    Json output = Json::array();
    std::string text;                           ///< of all its messages
    Json usage = nullptr;                       ///< known at the end; null until then
    Json error = nullptr;                       ///< {"code", "message"} of one that failed
    std::optional<std::string> incomplete = {}; ///< the reason
};

/// The object, in the superset of members that OpenAI and Open Responses demand. Sources: OpenAI API 2.3.0,
/// Response; Open Responses 2026-04-24, ResponseResource.
Json to_json(const Response& response);

/// The object of a response whose process has ended before it: failed, with the reason.
Json interrupted(Json object);

/// `usage` of a chat completion in the words of responses. `reasoning_tokens`: of the answer.
Json usage_of(const Json& chat_usage);

} // namespace etna::server::responses
