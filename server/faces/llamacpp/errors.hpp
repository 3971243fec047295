#pragma once

#include "server/api/error_reply.hpp"
#include "server/api/reply.hpp"
#include "server/base/json.hpp"

#include <string>

namespace etna::server::llamacpp {

/// Returns {"error": {"code", "message", "type"}}; `code` is the status.
Json error_object(const ApiError& error);

/// Writes an error in this format, see WriteError.
HttpReply write_error(const HttpRequest& request, const ApiError& error);

/// Returns the 501 error for a feature that this server lacks, or that the operator has not enabled.
ApiError not_supported(std::string message);

} // namespace etna::server::llamacpp
