#pragma once

#include "server/api/error_reply.hpp"
#include "server/api/reply.hpp"

#include <string>
#include <string_view>

// Errors of Ollama's API: {"error": "..."}. Source: Ollama, docs/api.md.
namespace etna::server::ollama {

/// Returns the error as one line of JSON, with its line end; it is also the last line of a failed stream.
std::string error_line(const ApiError& error);

/// Writes an error with its status, see WriteError.
HttpReply write_error(const HttpRequest& request, const ApiError& error);

/// Whether the path belongs to this API.
bool is_path(std::string_view path);

} // namespace etna::server::ollama
