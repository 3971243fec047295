#pragma once

#include "core/base/result.hpp"
#include "core/chat/jinja/template.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::chat {

/// What a template may name: the text of the model's begin and end tokens ("<s>", "</s>"); empty where it has
/// none.
struct SpecialText {
    std::string bos;
    std::string eos;
};

/// How a template wants content that is text only.
enum class ContentForm : uint8_t {
    text,
    parts, ///< a list: [{"type": "text", "text": ...}]
};

/// How a template wants the arguments of a past call.
enum class ArgumentsForm : uint8_t {
    object,
    text, ///< a string of JSON, as it comes over OpenAI's API
    none, ///< it writes no calls, or no results
};

/// What a template does with a conversation: found by rendering small ones and looking for their words.
struct TemplateHabits {
    ContentForm content = ContentForm::text;
    ArgumentsForm arguments = ArgumentsForm::none;
    bool writes_system = false; ///< a system message before the first user's appears in the prompt
    bool writes_tools = false;  ///< tools that are offered do
    bool can_think = false;     ///< `enable_thinking` or `thinking` changes the prompt
    /// The prompt of a conversation that says nothing of it is the one that has thinking switched off.
    bool is_thoughtless_unasked = false;
    std::string
        reasoning_key; ///< how it names an assistant's reasoning: "reasoning_content", "thinking", ...
};

/// A model's chat template (see jinja/template.hpp) with what it needs of the model. Immutable; thread-safe;
/// copies are cheap.
class ChatTemplate {
public:
    /// Parses, and renders a few small conversations to learn the habits. Errors: corrupt, unsupported, as
    /// jinja::Template::create().
    static Result<ChatTemplate> create(std::string_view text, SpecialText special);

    /// The prompt that a chat request becomes. `request_json` is an object as in OpenAI's API: `messages`,
    /// and where they are wanted `tools`, `documents`, `add_generation_prompt` (true where absent) and
    /// `chat_template_kwargs`, an object of further variables, none of them of is_own_variable();
    /// `enable_thinking`, `thinking`, `reasoning_effort`, `continue_final_message`, `bos_token` and
    /// `eos_token` may also stand beside them. They reach the template as they are. `now_unix_s` is what
    /// strftime_now() writes, in UTC. With `continue_final_message` the prompt ends with the text of the last
    /// message, the assistant's, and no new turn is begun.
    ///
    /// The prompt begins with the begin token's text where the template writes it; whoever tokenizes must
    /// not add a second one. Errors: invalid_argument (no request, a last message that cannot be gone on
    /// with, or the template refuses it in its own words), unsupported (the template fails, with the place).
    [[nodiscard]] Result<std::string> render(std::string_view request_json, int64_t now_unix_s) const;

    [[nodiscard]] const TemplateHabits& habits() const { return habits_; }
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] const SpecialText& special() const { return special_; }

private:
    ChatTemplate(jinja::Template parsed, std::string_view text, SpecialText special)
        : template_(std::move(parsed)), text_(text), special_(std::move(special)) {}

    [[nodiscard]] Result<std::string> render_whole(std::string_view request_json, int64_t now_unix_s) const;

    jinja::Template template_;
    std::string text_;
    SpecialText special_;
    TemplateHabits habits_;
};

} // namespace etna::chat
