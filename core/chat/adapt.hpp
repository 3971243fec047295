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
    /// What the template neither renders nor obeys: names for a client, such as `reasoning_effort`.
    std::vector<std::string> dropped = {};
    bool ignores_thinking_off = false; ///< the conversation turns thinking off; the template has no switch
    bool tools_in_text = false;        ///< tools are described in the system message; calls use Hermes syntax
    /// Bytes at the end of `text` that belong to the answer: a last message that is continued.
    std::size_t prefilled_bytes = 0;
};

/// Renders a conversation in any form that OpenAI's API allows. Content, call arguments and reasoning take
/// the form that the template expects, and the reasoning effort its nearest word. If the template refuses or
/// drops a part of a message, a call or a tool, the conversation is adapted by the fallbacks that change
/// least: a late system message moves into the neighbouring turn, adjacent messages of one role are merged,
/// tools are described in the system message, and so on; each change adds a note. Errors: those of
/// ChatTemplate::render(); the template's own error if no adaptation helps; invalid_argument (a part that the
/// template drops in any form; the error names it).
Result<AdaptedPrompt> render_adapted(const ChatTemplate& chat_template, const Conversation& conversation,
                                     int64_t now_unix_s);

} // namespace etna::chat
