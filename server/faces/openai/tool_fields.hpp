#pragma once

#include "core/chat/conversation.hpp"
#include "server/api/tools.hpp"
#include "server/base/fields.hpp"
#include "server/base/json.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::openai {

/// Returns whether it is {"type": "custom", "custom": {"name": ...}}.
bool is_named_custom(const Json& json);

/// Reads the members of a custom tool as a function whose `input` is constrained to the tool's format. Errors
/// are recorded in `custom`. Precondition: it has a name.
api::Tool read_custom_tool(Fields& custom, api::ExpressionSteps& steps);

/// Rewrites calls of custom tools in the messages to calls of those functions. Precondition:
/// check_messages().
Json with_functions_only(Json messages);

/// The deprecated `functions` and `function_call` of a request, converted to tools. A response then has at
/// most one call, in `message.function_call`. Source: OpenAI API 2.3.0, deprecated there.
struct LegacyFunctions {
    Json tools = Json::array(); ///< {"type": "function", "function": {...}}, in the request's order
    Json choice = "auto";       ///< "none", "auto", or {"type": "function", "function": {"name": ...}}
};

/// Returns empty if the request has none. Errors are recorded in `fields`.
std::optional<LegacyFunctions> read_legacy_functions(Fields& fields);

/// Moves the call of a response or a chunk to `function_call`.
void use_legacy_call(Json& answer);

/// A request's tools. The model sees custom tools as functions.
struct RequestTools {
    std::set<std::string> custom;          ///< names of custom tools
    std::vector<api::OfferedTool> offered; ///< as offered to the model
    bool are_legacy = false;               ///< `functions`: at most one call, in the deprecated form
};

/// Reads `tools` and `tool_choice` of a chat completion, or the deprecated fields: the tools offered to the
/// model, and whether a call is required. With `allowed_tools`, only those are offered. The flat form of the
/// Responses API is accepted; tools of other types than function and custom are reported as unknown. Errors
/// are recorded in `fields`. Source: OpenAI API 2.3.0.
RequestTools read_tools(Fields& fields, chat::Conversation& conversation);

} // namespace etna::server::openai
