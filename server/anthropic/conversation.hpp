#pragma once

#include "core/chat/conversation.hpp"
#include "server/anthropic/thinking_seal.hpp"
#include "server/fields.hpp"

namespace etna::server::anthropic {

/// Reads `system` and `messages` into the conversation's messages: results of tools become messages of their
/// own, before the text that follows them. Blocks of thinking that `seal` does not open are left out. Errors
/// are recorded in `fields`.
void read_messages(Fields& fields, const ThinkingSeal& seal, chat::Conversation& conversation);

} // namespace etna::server::anthropic
