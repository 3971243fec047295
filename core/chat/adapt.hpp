#pragma once

#include "core/base/result.hpp"
#include "core/chat/chat_template.hpp"
#include "core/chat/conversation.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace etna::chat {

/// A rendered prompt, with the changes made to the conversation so that the template renders all of it.
struct AdaptedPrompt {
    std::string text;
    std::vector<std::size_t> barriers = {}; ///< see RenderedPrompt
    std::vector<std::string> notes = {};    ///< user-facing, one clause per change; empty: unchanged
    bool tools_in_text = false; ///< tools are described in the system message; calls use Hermes syntax
    /// Bytes at the end of `text` that belong to the answer: a last message that is continued.
    std::size_t prefilled_bytes = 0;
};

/// Renders a conversation in any form that OpenAI's API allows. Content, call arguments and reasoning take
/// the form that the template expects. Adapts the conversation only if the template would refuse or lose
/// something: the system message moves into the first user turn, adjacent messages of one role are merged,
/// tools are described in the system message, and so on; each change adds a note. Errors: those of
/// ChatTemplate::render(); the template's own error if no adaptation helps.
Result<AdaptedPrompt> render_adapted(const ChatTemplate& chat_template, const Conversation& conversation,
                                     int64_t now_unix_s);

} // namespace etna::chat
