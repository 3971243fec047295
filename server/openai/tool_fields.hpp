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
    std::vector<OfferedTool> offered; ///< as offered to the model
    bool are_older = false;           ///< `functions`: at most one call, in the deprecated form
};

/// Reads `tools` and `tool_choice` of a chat completion, or the deprecated fields: the tools offered to the
/// model, and whether a call is required. With `allowed_tools`, only those are offered. Errors are recorded
/// in `fields`. Source: OpenAI API 2.3.0.
RequestTools read_tools(Fields& fields, chat::Conversation& conversation);

} // namespace etna::server::openai
