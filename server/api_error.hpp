#pragma once

#include "core/base/error.hpp"
#include "server/http.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace etna::server {

/// A refusal or failure in the words of OpenAI's API: {"error": {"message", "type", "param", "code"}}.
struct ApiError {
    int status = 400;
    std::string message;
    std::string type = "invalid_request_error";
    std::optional<std::string> param = {}; ///< the member of the request: "messages[2].content"
    std::optional<std::string> code = {};
    std::optional<int> retry_after_s = {};
};

/// The message of what is a client's mistake, with the hint. One that names options of the command line is
/// for who started the server, and left out.
std::string message_for_client(const Error& error);

/// The text with the folders taken off absolute paths that stand in it: what a client may have of a failure.
std::string without_folders(std::string_view text);

/// What an error of the core means to a client: status, type and code by its kind. Hints are told with what
/// is the client's mistake (4xx) alone.
ApiError api_error(const Error& error);

/// {"error": {...}} as JSON text, one line.
std::string error_json(const ApiError& error);

/// 503: the memory for requests is used up, or the machine's.
ApiError no_memory();

/// 413: the request, and what is made of it, would take more than the memory for all requests.
ApiError too_large_for_memory();

/// Sets the error of a log entry.
void record(const ApiError& error, AnswerLog& log);

HttpReply reply_of(const ApiError& error);

} // namespace etna::server
