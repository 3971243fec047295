#pragma once

#include "server/fields.hpp"
#include "server/json.hpp"
#include "server/responses/tool_names.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace etna::server::responses {

/// Where a function that the model is offered comes from.
struct OfferedTool {
    std::string place; ///< in the request: "tools[4].tools[0]"
    bool is_custom = false;
};

/// `tools`, `tool_choice` and `parallel_tool_calls` of a request.
struct Tools {
    Json told = Json::array();              ///< the tools as the response repeats them
    Json told_choice = "auto";              ///< and the choice
    Json chat = Json::object();             ///< the members of a chat completion that mean the same
    ToolNames names = {};                   ///< of those in `chat`
    std::vector<OfferedTool> offered = {};  ///< the same, in their order there
    std::vector<std::string> left_out = {}; ///< types of hosted tools, which nothing here runs
    bool may_call_several = true;
};

/// Functions and custom tools, and namespaces of both: a custom tool becomes a function of one text, `input`,
/// which its grammar is kept to, and the members of a namespace stand among the others. Tools that OpenAI
/// would run are left out, as clients offer them unasked; a choice that demands one is refused. Mistakes are
/// left in `fields`. Source: OpenAI API 2.3.0, Tool and ToolChoiceParam.
Tools read_tools(Fields& fields);

/// Whether tools of that type run in OpenAI's service, or in a form of its own.
bool is_hosted(std::string_view type);

/// `tool_choice`, after the tools have been read.
void read_tool_choice(Fields& fields, Tools& tools);

/// What is wrong with the parameters of a function of the chat completion, told as a mistake in the tool that
/// it was made of. Other errors stay as they are.
void tell_of_tool(ApiError& error, const std::vector<OfferedTool>& offered);

} // namespace etna::server::responses
