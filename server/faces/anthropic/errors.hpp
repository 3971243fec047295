#pragma once

#include "server/api/error_reply.hpp"
#include "server/api/reply.hpp"
#include "server/base/json.hpp"

// Errors of the Messages API. Source: Anthropic's API reference, 2023-06-01, "Errors".
namespace etna::server::anthropic {

/// The code of the error for a conversation that is expected on the server. Clients check it.
inline constexpr std::string_view unsupported_thread = "thread_unsupported_request";

/// Returns {"type": "error", "error": {"type", "message"}, "request_id"}; omits an empty id.
Json error_json(const ApiError& error, std::string_view request_id);

/// Writes an error with the API's status, see WriteError.
HttpReply write_error(const HttpRequest& request, const ApiError& error);

/// Whether the request is for this API: it has the API's version header.
bool names_version(const HttpRequest& request);

} // namespace etna::server::anthropic
