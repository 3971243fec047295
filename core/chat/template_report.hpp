#pragma once

#include "core/chat/chat_template.hpp"

#include <string>
#include <vector>

namespace etna::chat {

/// What a template does to a kind of conversation.
struct ConversationReport {
    std::string conversation;              ///< "a system message between turns"
    std::vector<std::string> changes = {}; ///< user-facing, one clause each; see AdaptedPrompt::notes
    std::vector<std::string> dropped = {}; ///< see AdaptedPrompt::dropped
    std::string refusal = {};              ///< the error; empty: none
};

/// Renders one small conversation of each kind: each role at each place, text beside calls, several calls,
/// reasoning, results. Returns those that the template does not render whole as they are.
std::vector<ConversationReport> report_template(const ChatTemplate& chat_template);

} // namespace etna::chat
