#pragma once

#include "core/base/result.hpp"
#include "core/chat/conversation.hpp"
#include "core/chat/reasoning_controls.hpp"
#include "core/jinja/template.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::chat {

class ControlNames;

/// Texts of the model's BOS and EOS tokens ("<s>", "</s>"), as a template sees them; empty if it has none.
struct SpecialText {
    std::string bos;
    std::string eos;
    std::vector<std::string> control = {}; ///< the names of all control tokens
};

/// A prompt, and the positions at which a client's text could be mistaken for the template's.
struct RenderedPrompt {
    std::string text;
    /// Ascending positions: the name of a control token is text where it lies across one, see
    /// text::EncodeOptions.
    std::vector<std::size_t> barriers = {};
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

/// The form of an assistant's reasoning that a template expects.
enum class ReasoningForm : uint8_t {
    member, ///< of the message, see TemplateCapabilities::reasoning_key
    parts,  ///< of the content: [{"type": "thinking", "thinking": ...}, {"type": "text", "text": ...}]
};

/// Capabilities of a template, probed by rendering small conversations and searching the prompts for their
/// text. A probe that fails to render means the capability is missing.
struct TemplateCapabilities {
    ContentForm content = ContentForm::text;
    bool keeps_texts = false; ///< writes a user's text into the prompt as it is, but for capital letters
    ArgumentsForm arguments = ArgumentsForm::none;
    bool renders_system = false;    ///< renders a system message before the first user message
    bool moves_late_system = false; ///< renders a later system message before the turns that precede it
    bool renders_tools = false;     ///< renders the offered tools
    bool can_think = false;         ///< a variable that turns thinking on or off changes the prompt
    /// Thinking is off by default: a request without a switch renders as one that turns thinking off.
    bool skips_thinking_by_default = false;
    ReasoningControls reasoning_controls = {};
    /// The text of a message with calls is not rendered, even if the calls follow in a message of their own.
    bool drops_text_beside_calls = false;
    bool renders_reasoning = false; ///< renders the reasoning of the last answer, or of one with calls
    ReasoningForm reasoning_form = ReasoningForm::member;
    std::string
        reasoning_key; ///< message key for an assistant's reasoning: "reasoning_content", "thinking", ...
};

/// A model's chat template (see jinja/template.hpp) with the special tokens that it needs. Immutable;
/// thread-safe; copies are cheap.
class ChatTemplate {
public:
    /// Work of all probes together, in the unit of jinja::Limits::work; some tenths of a second. A template
    /// that needs more has only the capabilities that were found before.
    static constexpr uint64_t probe_work_max = 200'000'000;

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
    /// Strings of the request spell no control token, unless `spelled` allows it: if one holds such a token's
    /// name, or a part that the template or another string could complete, the prompt has a barrier there.
    /// The template sees that string with another character inside the name, so that a test for the name
    /// fails; all other renderings are equal to those with SpelledTokens::all.
    ///
    /// `work_left` is the work that this rendering shares with others, see jinja::Input; null: none.
    ///
    /// The prompt starts with the BOS text if the template writes it; the tokenizer must not add a second
    /// BOS. Errors: invalid_argument (not a request, a last message that cannot be continued, or the
    /// template's own refusal), unsupported (the template fails; the error names the position).
    [[nodiscard]] Result<RenderedPrompt> render(const jinja::Value& request, int64_t now_unix_s,
                                                SpelledTokens spelled = SpelledTokens::user_defined,
                                                uint64_t* work_left = nullptr) const;

    /// Returns whether a prompt with these barriers begins with the BOS token.
    [[nodiscard]] bool begins_with_bos(std::string_view prompt, std::span<const std::size_t> barriers) const;

    [[nodiscard]] const TemplateCapabilities& capabilities() const { return capabilities_; }
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] const SpecialText& special() const { return special_; }

private:
    ChatTemplate(jinja::Template parsed, std::string_view text, SpecialText special);

    [[nodiscard]] Result<std::string> render_request(const jinja::Value& request, int64_t now_unix_s,
                                                     uint64_t* work_left) const;
    [[nodiscard]] Result<std::string> render_variables(const jinja::Value& request, int64_t now_unix_s,
                                                       uint64_t* work_left) const;

    jinja::Template template_;
    std::string text_;
    SpecialText special_;
    std::shared_ptr<const ControlNames> control_names_;
    TemplateCapabilities capabilities_;
    uint64_t* probe_work_ = nullptr; ///< that the probes have left; null after create()
};

} // namespace etna::chat
