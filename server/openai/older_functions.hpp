#pragma once

#include "server/fields.hpp"
#include "server/json.hpp"

#include <optional>

// Functions as chat completions had them before there were tools: `functions` and `function_call` in a
// request, and one call at most in an answer's `message.function_call`. Source: OpenAI API 2.3.0, deprecated
// there.
namespace etna::server::openai {

/// The same as tools are offered and chosen.
struct OlderFunctions {
    Json tools = Json::array(); ///< {"type": "function", "function": {...}}, in the request's order
    Json choice = "auto";       ///< "none", "auto", or {"type": "function", "function": {"name": ...}}
};

/// Empty where the request has none. Mistakes are left in `fields`.
std::optional<OlderFunctions> read_older_functions(Fields& fields);

/// Changes an answer, or a chunk of one: its call stands in `function_call`.
void tell_older_call(Json& answer);

} // namespace etna::server::openai
