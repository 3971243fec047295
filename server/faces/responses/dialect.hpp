#pragma once

#include "server/api/error_reply.hpp"
#include "server/api/reply.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace etna::server::responses {

constexpr std::string_view dialect_header = "etna-dialect";

/// The standard selected by the header `etna-dialect`.
enum class ResponseStandard : uint8_t {
    openai,
    open_responses, ///< Open Responses, 2026-04-24
};

ResponseStandard standard_of(const HttpRequest& request);

/// Error: 400 for an unknown dialect.
std::optional<ApiError> check_dialect(const HttpRequest& request);

/// Returns the Open Responses type of an error, one of five.
std::string_view error_type(const ApiError& error);

/// Writes an error in the client's standard, see WriteError.
HttpReply write_error(const HttpRequest& request, const ApiError& error);

} // namespace etna::server::responses
