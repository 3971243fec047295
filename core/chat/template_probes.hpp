#pragma once

#include "core/chat/chat_template.hpp"

// Internal to core/chat.
namespace etna::chat {

/// Renders small conversations and searches the prompts for their text.
TemplateCapabilities probe_capabilities(const ChatTemplate& chat_template);

} // namespace etna::chat
