#pragma once

#include "core/chat/chat_template.hpp"

namespace etna::chat {

/// Renders small conversations through the template and looks for their words in the prompts. A template that
/// fails on one has not the habit that it asks for.
TemplateHabits habits_of(const ChatTemplate& chat_template);

} // namespace etna::chat
