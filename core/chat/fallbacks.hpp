#pragma once

#include "core/chat/turns.hpp"

#include <cstdint>
#include <span>

// Internal to core/chat: changes to a conversation that a template refuses, or of which it drops a part.
namespace etna::chat {

/// What a template lacks altogether, so that a fallback always applies.
enum class Replaces : uint8_t { nothing, tools, calls, late_system, system };

/// One change to a conversation. A longer conversation with the same beginning keeps that beginning, so that
/// its prompt continues the earlier one.
struct TemplateFallback {
    bool (*apply)(Turns& turns); ///< returns whether it changed anything
    int cost; ///< how much it changes; of two ways to render a conversation, the cheaper one wins
    Replaces replaces;
    const char* note; ///< user-facing clause for AdaptedPrompt::notes
};

/// Returns all fallbacks, in the order in which they are applied to one conversation. Static.
std::span<const TemplateFallback> template_fallbacks();

} // namespace etna::chat
