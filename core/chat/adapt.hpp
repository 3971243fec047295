#pragma once

#include "core/base/result.hpp"
#include "core/chat/chat_template.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::chat {

/// A rendered prompt, with the changes made to the conversation so that the template renders all of it.
struct AdaptedPrompt {
    std::string text;
    std::vector<std::string> notes = {}; ///< user-facing, one clause per change; empty: unchanged
    bool tools_in_text = false; ///< tools are described in the system message; calls use Hermes syntax
    /// Bytes at the end of `text` that belong to the answer: a last message that is continued.
    std::size_t prefilled_bytes = 0;
};

/// Renders as ChatTemplate::render() does, but accepts any common form of conversation. Converts content
/// (text, parts or null) and call arguments (objects or text) to the forms that the template expects. Adapts
/// the conversation only if the template would refuse or lose something: the system message moves into the
/// first user turn, adjacent messages of one role are merged, tools are described in the system message, and
/// so on; each change adds a note. Errors: those of render(); the template's own error if no adaptation
/// helps.
Result<AdaptedPrompt> render_adapted(const ChatTemplate& chat_template, std::string_view request_json,
                                     int64_t now_unix_s);

} // namespace etna::chat
