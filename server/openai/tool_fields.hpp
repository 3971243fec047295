#pragma once

#include "core/chat/conversation.hpp"
#include "server/fields.hpp"
#include "server/json.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::openai {

// Custom tools take text instead of arguments; the model sees them as functions with one string parameter,
// `input`. Source: OpenAI API 2.3.0, CustomToolChatCompletions.

/// A tool offered to the model.
struct OfferedTool {
    std::size_t index = 0; ///< in the request's `tools`, or its deprecated `functions`
    bool is_custom = false;
    bool is_legacy = false; ///< see LegacyFunctions
};

/// The remaining step budget for checking all regular expressions of one request: see
/// Language::set_step_budget(). Far more than any usable expression needs.
struct ExpressionSteps {
    uint64_t left = 20'000'000;
};

/// Returns whether it is {"type": "custom", "custom": {"name": ...}}.
bool is_named_custom(const Json& json);

/// Converts a custom tool to a function whose `input` is constrained to the tool's format. Errors are
/// recorded in `tool`. Precondition: is_named_custom().
Json function_of_custom(Fields& tool, ExpressionSteps& steps);

/// Reads {"syntax", "definition"} into keywords of the input's schema; chats have them in a separate object,
/// responses next to the type. Errors are recorded in `grammar`.
void read_grammar(Fields& grammar, Json& schema, ExpressionSteps& steps);

/// Returns the prefix of an error message that locates the grammar in the generated schema; may be empty.
std::string_view grammar_location(std::string_view text);

/// Rewrites calls of custom tools in the messages to calls of those functions. Precondition:
/// check_messages().
Json with_functions_only(Json messages);

/// Maps an error in the parameters of one of `tools`, which the core numbers, to its path in the request; for
/// a custom tool, to an error in its format. Other errors are unchanged.
void map_tool_error(ApiError& error, const std::vector<OfferedTool>& tools);

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
    std::set<std::string> custom;     ///< names of custom tools
    std::vector<OfferedTool> offered; ///< as offered to the model
    bool are_legacy = false;          ///< `functions`: at most one call, in the deprecated form
};

/// Reads `tools` and `tool_choice` of a chat completion, or the deprecated fields: the tools offered to the
/// model, and whether a call is required. With `allowed_tools`, only those are offered. Errors are recorded
/// in `fields`. Source: OpenAI API 2.3.0.
RequestTools read_tools(Fields& fields, chat::Conversation& conversation);

} // namespace etna::server::openai
