#pragma once

#include "core/chat/conversation.hpp"
#include "server/fields.hpp"
#include "server/openai/custom_tools.hpp"

#include <set>
#include <string>
#include <vector>

namespace etna::server::openai {

/// A request's tools. The model sees custom tools as functions; see custom_tools.hpp.
struct RequestTools {
    std::set<std::string> custom;     ///< names of custom tools
    std::vector<OfferedTool> offered; ///< as the model has them
    bool are_older = false;           ///< `functions`: an answer makes one call at most, and tells it so
};

/// `tools` and `tool_choice` of a chat completion, or the older members in their place: the tools that the
/// model is offered, and whether one of them has to be called. With `allowed_tools` it is offered only those.
/// Mistakes are left in `fields`. Source: OpenAI API 2.3.0.
RequestTools read_tools(Fields& fields, chat::Conversation& conversation);

} // namespace etna::server::openai
