#pragma once

#include "core/chat/conversation.hpp"
#include "server/api/file_texts.hpp"
#include "server/base/fields.hpp"
#include "server/faces/anthropic/thinking_seal.hpp"

namespace etna::server::anthropic {

/// Reads `system` and `messages` into the conversation's messages. Each tool result becomes a separate
/// message, before the text that follows it. Omits thinking blocks that `seal` cannot open. Documents of text
/// are read by `files`. Errors are recorded in `fields`.
void read_messages(Fields& fields, const ThinkingSeal& seal, const api::FileTexts& files,
                   chat::Conversation& conversation);

} // namespace etna::server::anthropic
