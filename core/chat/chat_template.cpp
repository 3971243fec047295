#include "core/chat/chat_template.hpp"

#include "core/chat/control_names.hpp"
#include "core/chat/name_guard.hpp"
#include "core/chat/request.hpp"
#include "core/jinja/value.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace etna::chat {
namespace {

using jinja::Value;

/// Request members that a template sees as variables of the same name.
constexpr std::array<std::string_view, 10> variables = {
    "messages",        "tools",    "documents",        "add_generation_prompt",
    "enable_thinking", "thinking", "reasoning_effort", "continue_final_message",
    "bos_token",       "eos_token"};

// Words that occur in no template.
constexpr const char* user_word = "kestrelquay";
constexpr const char* system_word = "marrowfen";
constexpr const char* tool_word = "brindleforge";
constexpr const char* key_word = "oxlipgate";
constexpr const char* value_word = "tansyholt";
constexpr const char* result_word = "wrenmoor";
constexpr const char* call_id = "probe0001"; // some templates require nine letters and digits

bool contains(const std::string& text, std::string_view word) {
    return text.find(word) != std::string::npos;
}

/// Renders at a fixed time, so that prompts can be compared. Returns an empty string on failure.
std::string prompt_of(const ChatTemplate& chat_template, NamedValues request) {
    const auto prompt = chat_template.render(Value::dict(std::move(request)), 0, SpelledTokens::all);
    return prompt ? prompt->text : std::string();
}

Value content(const char* word, ContentForm form) {
    if (form == ContentForm::text)
        return word;
    return Value::list({Value::dict({{"type", "text"}, {"text", word}})});
}

Value user_message(ContentForm form) {
    return Value::dict({{"role", "user"}, {"content", content(user_word, form)}});
}

Value probe_tools() {
    const Value property = Value::dict({{"type", "string"}, {"description", "a word"}});
    const Value parameters = Value::dict({{"type", "object"},
                                          {"properties", Value::dict({{key_word, property}})},
                                          {"required", Value::list({key_word})}});
    const Value function =
        Value::dict({{"name", tool_word}, {"description", "a tool"}, {"parameters", parameters}});
    return Value::list({Value::dict({{"type", "function"}, {"function", function}})});
}

/// A user message, a call and its result.
Value messages_with_call(ContentForm form, const Value& arguments) {
    const Value function = Value::dict({{"name", tool_word}, {"arguments", arguments}});
    const Value call = Value::dict({{"id", call_id}, {"type", "function"}, {"function", function}});
    return Value::list(
        {user_message(form),
         Value::dict({{"role", "assistant"}, {"content", ""}, {"tool_calls", Value::list({call})}}),
         Value::dict({{"role", "tool"},
                      {"tool_call_id", call_id},
                      {"name", tool_word},
                      {"content", content(result_word, form)}})});
}

ContentForm content_form(const ChatTemplate& chat_template) {
    for (const ContentForm form : {ContentForm::text, ContentForm::parts}) {
        const std::string prompt =
            prompt_of(chat_template, {{"messages", Value::list({user_message(form)})}});
        // A list printed as a Python repr does not count as rendered content.
        if (contains(prompt, user_word) && !contains(prompt, std::string("'") + user_word))
            return form;
    }
    return ContentForm::text;
}

bool renders_system(const ChatTemplate& chat_template, ContentForm form) {
    const Value system = Value::dict({{"role", "system"}, {"content", content(system_word, form)}});
    const std::string prompt =
        prompt_of(chat_template, {{"messages", Value::list({system, user_message(form)})}});
    return contains(prompt, system_word) && contains(prompt, user_word);
}

bool renders_tools(const ChatTemplate& chat_template, ContentForm form) {
    const std::string prompt =
        prompt_of(chat_template, {{"messages", Value::list({user_message(form)})}, {"tools", probe_tools()}});
    return contains(prompt, tool_word) && contains(prompt, user_word);
}

ArgumentsForm arguments_form(const ChatTemplate& chat_template, ContentForm form) {
    const auto renders = [&](const Value& arguments, std::string_view wrong_form) {
        const std::string prompt = prompt_of(
            chat_template, {{"messages", messages_with_call(form, arguments)}, {"tools", probe_tools()}});
        return contains(prompt, value_word) && contains(prompt, result_word) && !contains(prompt, wrong_form);
    };
    // The repr of a Python dict means wrong arguments; the tools themselves may be rendered as one.
    if (renders(Value::dict({{key_word, value_word}}), std::string("{'") + key_word + "': '" + value_word))
        return ArgumentsForm::object;
    const std::string text = fmt::format(R"({{"{}":"{}"}})", key_word, value_word);
    if (renders(text, std::string("{\\\"") + key_word)) // a string in a string
        return ArgumentsForm::text;
    return ArgumentsForm::none;
}

void probe_thinking(const ChatTemplate& chat_template, TemplateCapabilities& capabilities) {
    const NamedValues request = {{"messages", Value::list({user_message(capabilities.content)})}};
    const std::string by_default = prompt_of(chat_template, request);
    const auto prompt = [&](bool thinks) {
        NamedValues switched = request;
        switched.emplace_back("chat_template_kwargs",
                              Value::dict({{"enable_thinking", thinks}, {"thinking", thinks}}));
        return prompt_of(chat_template, std::move(switched));
    };
    const std::string off = prompt(false);
    capabilities.can_think = prompt(true) != off;
    capabilities.skips_thinking_by_default = capabilities.can_think && by_default == off;
}

std::string reasoning_key(const std::string& text) {
    for (const std::string_view key : {"reasoning_content", ".thinking", "'thinking'", "\"thinking\""}) {
        if (contains(text, key))
            return key == "reasoning_content" ? std::string(key) : "thinking";
    }
    return contains(text, ".reasoning") ? "reasoning" : "reasoning_content";
}

TemplateCapabilities probe_capabilities(const ChatTemplate& chat_template) {
    TemplateCapabilities capabilities;
    capabilities.content = content_form(chat_template);
    capabilities.arguments = arguments_form(chat_template, capabilities.content);
    capabilities.renders_system = renders_system(chat_template, capabilities.content);
    capabilities.renders_tools = renders_tools(chat_template, capabilities.content);
    probe_thinking(chat_template, capabilities);
    capabilities.reasoning_key = reasoning_key(chat_template.text());
    return capabilities;
}

} // namespace

Result<ChatTemplate> ChatTemplate::create(std::string_view text, SpecialText special) {
    ETNA_TRY(auto parsed, jinja::Template::create(text));
    ChatTemplate chat_template(std::move(parsed), text, std::move(special));
    chat_template.capabilities_ = probe_capabilities(chat_template);
    return chat_template;
}

ChatTemplate::ChatTemplate(jinja::Template parsed, std::string_view text, SpecialText special)
    : template_(std::move(parsed)), text_(text), special_(std::move(special)),
      control_names_(std::make_shared<const ControlNames>(special_.control, text)) {}

Result<RenderedPrompt> ChatTemplate::render(const Value& request, int64_t now_unix_s,
                                            SpelledTokens spelled) const {
    ETNA_CHECK(check_request(request));
    const auto unbroken = [&]() -> Result<RenderedPrompt> {
        ETNA_TRY(std::string text, render_request(request, now_unix_s));
        return RenderedPrompt{std::move(text)};
    };
    if (spelled == SpelledTokens::all)
        return unbroken();
    const NameGuard guard(*control_names_, request, text_);
    if (guard.is_idle())
        return unbroken();
    const auto broken = [&](Spelling last) -> Result<RenderedPrompt> {
        ETNA_TRY(const Value changed, guard.broken(last));
        ETNA_TRY(const std::string text, render_request(changed, now_unix_s));
        return guard.restored(text);
    };
    auto prompt = broken(Spelling::name);
    // Breaks in mere parts of names must not affect the template's behaviour.
    for (const Spelling last : {Spelling::removal, Spelling::end}) {
        if (!prompt || !guard.has(last))
            continue;
        auto more = broken(last);
        if (more && more->text == prompt->text)
            return more;
    }
    return prompt;
}

bool ChatTemplate::begins_with_bos(std::string_view prompt, std::span<const std::size_t> barriers) const {
    const bool is_broken = std::any_of(barriers.begin(), barriers.end(), [this](std::size_t barrier) {
        return barrier > 0 && barrier < special_.bos.size();
    });
    return !special_.bos.empty() && prompt.starts_with(special_.bos) && !is_broken;
}

/// Renders as render() does, without barriers.
Result<std::string> ChatTemplate::render_request(const Value& request, int64_t now_unix_s) const {
    if (!continues_final_message(request))
        return render_variables(request, now_unix_s);
    ETNA_TRY(const ContinuedRequest continued, append_sentinel(request));
    ETNA_TRY(std::string prompt, render_variables(continued.request, now_unix_s));
    return cut_at_sentinel(std::move(prompt), continued.sentinel);
}

/// Renders without the cut for `continue_final_message`.
Result<std::string> ChatTemplate::render_variables(const Value& request, int64_t now_unix_s) const {
    // If a name occurs twice, the later variable wins.
    jinja::Input input = {.variables = {{"add_generation_prompt", Value(true)},
                                        {"bos_token", Value(special_.bos)},
                                        {"eos_token", Value(special_.eos)}},
                          .now_unix_s = now_unix_s};
    for (const std::string_view name : variables) {
        if (const Value* const member = find_member(request, name))
            input.variables.emplace_back(name, *member);
    }
    const Value* const kwargs = find_member(request, "chat_template_kwargs");
    if (kwargs != nullptr && kwargs->is(jinja::Type::dict)) {
        for (const auto& [name, value] : kwargs->dict()->entries)
            input.variables.emplace_back(name.string(), value);
    }
    return template_.render(input);
}

} // namespace etna::chat
