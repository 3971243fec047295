#pragma once

#include "server/api/reply.hpp"
#include "server/base/api_error.hpp"

namespace etna::server {

/// Converts an error to a response in the format of an API.
using WriteError = HttpReply (*)(const HttpRequest& request, const ApiError& error);

/// Sets the error of a log entry.
void record(const ApiError& error, AnswerLog& log);

HttpReply reply_of(const ApiError& error);

/// The format of OpenAI's API, see reply_of().
HttpReply write_openai_error(const HttpRequest& request, const ApiError& error);

} // namespace etna::server
