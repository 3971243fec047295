#pragma once

#include "core/chat/turns.hpp"

#include <span>
#include <vector>

// Internal to core/chat: changes to a conversation that a template refuses or would drop a part of.
namespace etna::chat {

/// One change to try on a conversation that the template refuses.
struct TemplateFallback {
    bool (*apply)(Turns& turns); ///< returns whether it changed anything
    const char* note;            ///< user-facing clause for AdaptedPrompt::notes
};

/// Returns all fallbacks, in the order in which they are tried. Static.
std::span<const TemplateFallback> template_fallbacks();

/// Moves the tools into the system message, with instructions for calling them in Hermes syntax.
void describe_tools(Turns& turns);

/// Converts past calls and results to text in assistant and user turns, in Hermes syntax.
void calls_to_text(std::vector<Turn>& messages);

/// Merges all system messages into one, at the start. Returns whether it changed anything.
bool merge_system_messages(Turns& turns);

/// Prepends the first message, if it is a system message, to the first user message.
void move_system_into_user(std::vector<Turn>& messages);

} // namespace etna::chat
