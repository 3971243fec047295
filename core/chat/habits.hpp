#pragma once

#include "core/chat/chat_template.hpp"

namespace etna::chat {

/// Probes a template's capabilities: renders small conversations and searches the prompts for their text. A
/// probe that fails to render means the capability is missing.
TemplateHabits habits_of(const ChatTemplate& chat_template);

} // namespace etna::chat
