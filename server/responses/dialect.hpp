#pragma once

#include "server/api_error.hpp"
#include "server/http.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace etna::server::responses {

/// Whose words a client wants where two standards differ: `etna-dialect`.
enum class Wording : uint8_t {
    openai,
    open_responses, ///< Open Responses, 2026-04-24
};

Wording wording_of(const HttpRequest& request);

/// Error: 400 for a dialect that nobody knows.
std::optional<ApiError> check_dialect(const HttpRequest& request);

/// The type of an error as Open Responses calls it, which knows five.
std::string_view error_type(const ApiError& error);

/// A refusal as the client's standard has it; any other answer as it is.
HttpReply in_wording(Wording wording, HttpReply reply);

} // namespace etna::server::responses
