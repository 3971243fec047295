#pragma once

#include "server/fields.hpp"
#include "server/json.hpp"

#include <optional>

// The deprecated function calling of chat completions: `functions` and `function_call` in a request, and at
// most one call in a response's `message.function_call`. Source: OpenAI API 2.3.0, deprecated there.
namespace etna::server::openai {

/// The functions and the choice, converted to tools.
struct OlderFunctions {
    Json tools = Json::array(); ///< {"type": "function", "function": {...}}, in the request's order
    Json choice = "auto";       ///< "none", "auto", or {"type": "function", "function": {"name": ...}}
};

/// Empty if the request has none. Errors are recorded in `fields`.
std::optional<OlderFunctions> read_older_functions(Fields& fields);

/// Moves the call of a response or a chunk to `function_call`.
void tell_older_call(Json& answer);

} // namespace etna::server::openai
