#pragma once

#include "core/chat/conversation.hpp"
#include "server/api/generation_call.hpp"
#include "server/base/fields.hpp"
#include "server/base/json.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::api {

/// A tool as the model sees it.
struct Tool {
    Json function;
    OfferedTool offered;
};

/// Returns a tool's name.
std::string name_of(const Tool& tool);

/// Reads `tools`, a list of objects, each with `read`, which gets its path and returns nothing for a tool
/// that is not offered. `name_member`: where a tool has its name, which must be unique. Errors are recorded
/// in `fields`.
std::vector<Tool>
read_tool_list(Fields& fields, std::string_view name_member,
               const std::function<std::optional<Tool>(Fields& tool, const std::string& path)>& read);

/// The client's choice among its tools.
struct ToolChoice {
    bool offers_tools = true;
    bool requires_call = false;
    std::optional<std::string> required = {};          ///< the tool that must be called; empty: any
    std::optional<std::set<std::string>> allowed = {}; ///< the tools that are offered; empty: all
};

/// Offers the chosen tools to the model, in their order. Returns them. Precondition: the choice names tools
/// of the list only, and requires a call only if there are any.
std::vector<OfferedTool> offer_tools(std::vector<Tool> tools, const ToolChoice& choice,
                                     chat::Conversation& conversation);

// Custom tools take text instead of arguments; the model sees them as functions with one string parameter,
// `input`. Source: OpenAI API 2.3.0, CustomToolChatCompletions and CustomToolParam.

/// The remaining step budget for checking all regular expressions of one request: see
/// Language::set_step_budget(). Far more than any usable expression needs.
struct ExpressionSteps {
    uint64_t left = 20'000'000;
};

/// Reads {"syntax", "definition"} into keywords of the input's schema; chats have them in a separate object,
/// responses next to the type. Errors are recorded in `grammar`.
void read_grammar(Fields& grammar, Json& schema, ExpressionSteps& steps);

/// Returns a function's definition. Without parameters if they are null.
Json function_definition(const std::string& name, const std::optional<std::string>& description,
                         Json parameters, bool is_strict);

/// Returns the function that represents a custom tool. `input`: the schema of its text.
Json custom_function(const std::string& name, const std::optional<std::string>& description, Json input);

/// Returns the arguments of a call in the history as JSON text; a string is the model's own text, and
/// unchanged. Null, or a null pointer: no arguments.
std::string history_arguments(const Json* arguments);

/// Wraps a custom tool's input in JSON function arguments with one member, `input`.
std::string custom_arguments(std::string_view input);

} // namespace etna::server::api
