#pragma once

#include "core/base/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace etna::server {

/// An error in the format of the OpenAI API: {"error": {"message", "type", "param", "code"}}.
struct ApiError {
    int status = 400;
    std::string message;
    std::string type = "invalid_request_error";
    std::optional<std::string> param = {}; ///< the offending request field: "messages[2].content"
    std::optional<std::string> code = {};
    std::optional<int> retry_after_s = {};
};

/// A value, or the error that the client receives.
template <class T>
using ApiResult = Result<T, ApiError>;

using ApiStatus = ApiResult<void>;

/// The message for a client error, with its hint. A hint that names command-line options addresses the
/// operator and is left out.
std::string message_for_client(const Error& error);

/// Strips the directories from absolute paths in the text, so that a failure message can go to clients.
std::string strip_directories(std::string_view text);

/// Maps a core error to an API error: status, type and code by its kind. Hints are included for client errors
/// (4xx) only.
ApiError api_error(const Error& error);

/// {"error": {...}} as JSON text, one line.
std::string error_json(const ApiError& error);

/// 503: the request memory budget or the machine's memory is exhausted.
ApiError no_memory();

/// 413: the request with its derived data would exceed the memory budget of all requests.
ApiError too_large_for_memory();

} // namespace etna::server
