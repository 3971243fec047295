#pragma once

#include "server/api/active_request.hpp"
#include "server/base/json.hpp"
#include "server/faces/responses/dialect.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace etna::server::responses {

enum class ResponseStatus : uint8_t { queued, in_progress, completed, incomplete, failed, cancelled };

std::string_view to_string(ResponseStatus status);

/// The contents of a response object.
struct Response {
    std::string id; ///< "resp_..."
    int64_t created_unix_s = 0;
    std::optional<int64_t> completed_unix_s = {};
    std::string model;
    ResponseStatus status = ResponseStatus::in_progress;
    Json echoed = Json::object(); ///< the fields repeated from the request
    Json output = Json::array();
    std::string text = {};                      ///< the text of all its messages
    Json usage = nullptr;                       ///< null until the end
    Json error = nullptr;                       ///< {"code", "message"} if it failed
    std::optional<std::string> incomplete = {}; ///< the reason; empty: complete
};

/// Returns the JSON object, with the union of the members that OpenAI and Open Responses require, and in the
/// latter with nulls that only it requires. Sources: OpenAI API 2.3.0, Response; Open Responses 2026-04-24,
/// ResponseResource.
Json to_json(const Response& response, ResponseStandard standard);

/// Returns the `usage` object.
Json usage_json(const api::Usage& usage);

} // namespace etna::server::responses
