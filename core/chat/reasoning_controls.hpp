#pragma once

#include "core/chat/conversation.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::chat {

class ChatTemplate;

/// A template variable that turns thinking on or off. Static names.
struct ThinkingSwitch {
    std::string_view variable;
    std::optional<jinja::Value> on; ///< empty: the variable is absent
    jinja::Value off;
};

/// The variables of a template that control an answer's reasoning, probed by rendering one user message with
/// each of their values.
struct ReasoningControls {
    std::vector<ThinkingSwitch> switches = {}; ///< those that change the prompt
    bool is_off_by_default = false; ///< a request without a switch renders as one that turns thinking off
    std::string_view effort_variable = {}; ///< for the reasoning effort; empty: none
    /// Words with a meaning to the template, from shallow to deep; an empty one is a default without a word.
    std::vector<std::string_view> effort_words = {};
};

/// Probes the template. A probe that fails to render means that the control is missing.
ReasoningControls probe_reasoning_controls(const ChatTemplate& chat_template,
                                           const jinja::Value& user_message);

/// The reasoning effort of a request in the words of a template.
struct EffortChoice {
    std::optional<std::string> word; ///< empty: the variable stays absent
    bool has_changed = false;        ///< `word` is not the requested one
    bool has_effect = true;          ///< false: the template knows neither effort nor a switch
};

/// Chooses the known word that is nearest to the requested one, the deeper of two at the same distance. Words
/// outside of OpenAI's scale stay as they are; "none" is absent if a switch turns thinking off.
EffortChoice choose_effort(const ReasoningControls& controls, const std::string& requested);

/// Sets the template's word for the requested effort among the template arguments, unless the template's own
/// variable is explicit. Returns the choice; empty: no effort is requested.
std::optional<EffortChoice> set_effort(NamedValues& arguments, const ReasoningControls& controls);

/// Sets the usual switches for thinking, `enable_thinking` and `thinking`, and those of the template that are
/// not explicit. Does nothing for Thinking::template_default.
void set_thinking(NamedValues& arguments, const ReasoningControls& controls, Thinking thinking);

} // namespace etna::chat
