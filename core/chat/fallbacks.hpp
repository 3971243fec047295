#pragma once

#include "core/base/json.hpp"

#include <span>

// Internal to core/chat: changes to a conversation that a template refuses or would drop a part of. All
// expect messages whose content is a string.
namespace etna::chat {

/// One change to try on a request that the template refuses.
struct TemplateFallback {
    bool (*apply)(Json& request); ///< returns whether it changed anything
    const char* note;             ///< user-facing clause for AdaptedPrompt::notes
};

/// Returns all fallbacks, in the order in which they are tried. Static.
std::span<const TemplateFallback> template_fallbacks();

/// Moves the tools into the system message, with instructions for calling them in Hermes syntax.
void describe_tools(Json& request);

/// Converts past calls and results to text in assistant and user turns, in Hermes syntax.
void calls_to_text(Json& messages);

/// Merges all system messages into one, at the start. Returns whether it changed anything.
bool merge_system_messages(Json& request);

/// Prepends the first message, which is a system message, to the first user message.
void move_system_into_user(Json& messages);

} // namespace etna::chat
