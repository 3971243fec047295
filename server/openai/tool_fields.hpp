#pragma once

#include "core/chat/conversation.hpp"
#include "server/fields.hpp"

namespace etna::server::openai {

/// `tools` and `tool_choice` of a chat completion: the tools that the model is offered, and whether one of
/// them has to be called. With `allowed_tools` it is offered only those. Mistakes are left in `fields`.
/// Source: OpenAI API 2.3.0.
void read_tools(Fields& fields, chat::Conversation& conversation);

} // namespace etna::server::openai
