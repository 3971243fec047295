#include "server/faces/anthropic/errors.hpp"

#include <string>

namespace etna::server::anthropic {
namespace {

constexpr int overloaded = 529; ///< a non-standard status of this API

/// The API has no 503: retryable refusals become overloaded_error.
int status_of(const ApiError& error) {
    constexpr int unavailable = 503;
    return error.status == unavailable ? overloaded : error.status;
}

std::string_view type_of(int status) {
    constexpr int first_server_error = 500;
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 413:
        return "request_too_large";
    case 429:
        return "rate_limit_error";
    case overloaded:
        return "overloaded_error";
    default:
        return status < first_server_error ? "invalid_request_error" : "api_error";
    }
}

/// Clients search for this phrase, and then shorten the conversation.
std::string message_of(const ApiError& error) {
    return error.code == "context_length_exceeded" ? "prompt is too long: " + error.message : error.message;
}

} // namespace

Json error_json(const ApiError& error, std::string_view request_id) {
    Json json = {{"type", "error"},
                 {"error", {{"type", type_of(status_of(error))}, {"message", message_of(error)}}}};
    if (error.code == unsupported_thread) {
        json["error"]["details"] = {{"error_code", unsupported_thread},
                                    {"unsupported", Json::array({"message_threads"})}};
    }
    if (!request_id.empty())
        json["request_id"] = request_id;
    return json;
}

HttpReply write_error(const HttpRequest& request, const ApiError& error) {
    HttpReply reply = reply_of(error); // for its headers and log entry
    reply.status = status_of(error);
    reply.body = dump_json(error_json(error, request.header("x-request-id"))) + "\n";
    return reply;
}

bool names_version(const HttpRequest& request) {
    return !request.header("anthropic-version").empty();
}

} // namespace etna::server::anthropic
