#pragma once

#include "core/base/result.hpp"
#include "core/jinja/template.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace etna::chat {

/// Texts of the model's BOS and EOS tokens ("<s>", "</s>"), as a template sees them; empty if it has none.
struct SpecialText {
    std::string bos;
    std::string eos;
};

/// The form of text-only content that a template expects.
enum class ContentForm : uint8_t {
    text,
    parts, ///< a list: [{"type": "text", "text": ...}]
};

/// The form of a past call's arguments that a template expects.
enum class ArgumentsForm : uint8_t {
    object,
    text, ///< a JSON string, as in OpenAI's API
    none, ///< the template does not render calls, or does not render results
};

/// Capabilities of a template, probed by rendering small conversations and searching the prompts for their
/// text. A probe that fails to render means the capability is missing.
struct TemplateCapabilities {
    ContentForm content = ContentForm::text;
    ArgumentsForm arguments = ArgumentsForm::none;
    bool renders_system = false; ///< renders a system message before the first user message
    bool renders_tools = false;  ///< renders the offered tools
    bool can_think = false;      ///< `enable_thinking` or `thinking` changes the prompt
    /// Thinking is off by default: a request without either switch renders as one that turns thinking off.
    bool skips_thinking_by_default = false;
    std::string
        reasoning_key; ///< message key for an assistant's reasoning: "reasoning_content", "thinking", ...
};

/// A model's chat template (see jinja/template.hpp) with the special tokens that it needs. Immutable;
/// thread-safe; copies are cheap.
class ChatTemplate {
public:
    /// Parses the template and probes it with a few small conversations. Errors: corrupt, unsupported, as
    /// jinja::Template::create().
    static Result<ChatTemplate> create(std::string_view text, SpecialText special);

    /// Renders a chat request to a prompt. `request` is an object as in OpenAI's API: `messages`, and
    /// optionally `tools`, `documents`, `add_generation_prompt` (default true) and `chat_template_kwargs`, an
    /// object of further variables, none of which may satisfy is_reserved_variable(). `enable_thinking`,
    /// `thinking`, `reasoning_effort`, `continue_final_message`, `bos_token` and `eos_token` are accepted at
    /// the top level, too. All reach the template unchanged. `now_unix_s` is the time for strftime_now(), in
    /// UTC. With `continue_final_message` the prompt ends with the text of the last message, which must be
    /// the assistant's, and no new turn is opened.
    ///
    /// The prompt starts with the BOS text if the template writes it; the tokenizer must not add a second
    /// BOS. Errors: invalid_argument (not a request, a last message that cannot be continued, or the
    /// template's own refusal), unsupported (the template fails; the error names the position).
    [[nodiscard]] Result<std::string> render(const jinja::Value& request, int64_t now_unix_s) const;

    [[nodiscard]] const TemplateCapabilities& capabilities() const { return capabilities_; }
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] const SpecialText& special() const { return special_; }

private:
    ChatTemplate(jinja::Template parsed, std::string_view text, SpecialText special)
        : template_(std::move(parsed)), text_(text), special_(std::move(special)) {}

    [[nodiscard]] Result<std::string> render_request(const jinja::Value& request, int64_t now_unix_s) const;

    jinja::Template template_;
    std::string text_;
    SpecialText special_;
    TemplateCapabilities capabilities_;
};

} // namespace etna::chat
