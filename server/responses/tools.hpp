#pragma once

#include "server/fields.hpp"
#include "server/json.hpp"
#include "server/responses/tool_names.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace etna::server::responses {

/// The origin of a function offered to the model.
struct OfferedTool {
    std::string place; ///< path in the request: "tools[4].tools[0]"
    bool is_custom = false;
};

/// `tools`, `tool_choice` and `parallel_tool_calls` of a request.
struct Tools {
    Json told = Json::array();              ///< the tools as repeated in the response
    Json told_choice = "auto";              ///< the choice as repeated in the response
    Json chat = Json::object();             ///< the equivalent chat completion fields
    ToolNames names = {};                   ///< names of the tools in `chat`
    std::vector<OfferedTool> offered = {};  ///< the tools of `chat`, in order
    std::vector<std::string> left_out = {}; ///< types of hosted tools, which etna does not run
    bool may_call_several = true;
};

/// Reads functions, custom tools and namespaces of both: a custom tool becomes a function with one string,
/// `input`, constrained to its grammar; namespace members are flattened. Hosted tools are left out, because
/// clients offer them by default; a choice that requires one is refused. Errors are recorded in `fields`.
/// Source: OpenAI API 2.3.0, Tool and ToolChoiceParam.
Tools read_tools(Fields& fields);

/// Whether tools of that type run in OpenAI's service, or have an OpenAI-specific form.
bool is_hosted(std::string_view type);

/// Reads `tool_choice`, after the tools have been read.
void read_tool_choice(Fields& fields, Tools& tools);

/// Maps an error in the parameters of a chat completion function to the tool that it was converted from.
/// Other errors are unchanged.
void tell_of_tool(ApiError& error, const std::vector<OfferedTool>& offered);

} // namespace etna::server::responses
