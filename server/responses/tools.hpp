#pragma once

#include "server/fields.hpp"
#include "server/json.hpp"

#include <set>
#include <string>

namespace etna::server::responses {

/// `tools`, `tool_choice` and `parallel_tool_calls` of a request.
struct Tools {
    Json told = Json::array();         ///< the tools as the response repeats them
    Json told_choice = "auto";         ///< and the choice
    Json chat = Json::object();        ///< the members of a chat completion that mean the same
    std::set<std::string> custom = {}; ///< names of tools that take text instead of arguments
    bool may_call_several = true;
};

/// Functions and custom tools: a custom tool becomes a function of one text, `input`, which its grammar is
/// kept to. Tools that somebody else would have to run are refused by name. Mistakes are left in `fields`.
/// Source: OpenAI API 2.3.0, Tool and ToolChoiceParam.
Tools read_tools(Fields& fields);

/// What is wrong with the parameters of a function, told as a mistake in the tool that it was made of: one of
/// `told`, see Tools. Other errors stay as they are.
void tell_of_tool(ApiError& error, const Json& told);

} // namespace etna::server::responses
