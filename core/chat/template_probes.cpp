#include "core/chat/template_probes.hpp"

#include "core/chat/control_names.hpp"
#include "core/chat/outline.hpp"
#include "core/chat/request.hpp"
#include "core/chat/turns.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::chat {
namespace {

using jinja::Value;

// Words that occur in no template.
constexpr const char* user_word = template_free_word;
constexpr const char* system_word = "marrowfen";
constexpr const char* tool_word = "brindleforge";
constexpr const char* key_word = "oxlipgate";
constexpr const char* value_word = "tansyholt";
constexpr const char* result_word = "wrenmoor";
constexpr const char* reasoning_word = "sedgelark";
constexpr const char* text_word = "burdockvale";
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

bool keeps_texts(const ChatTemplate& chat_template, ContentForm form) {
    const std::string prompt = prompt_of(chat_template, {{"messages", Value::list({user_message(form)})}});
    return contains(folded(prompt), user_word);
}

bool renders_system(const ChatTemplate& chat_template, ContentForm form) {
    const Value system = Value::dict({{"role", "system"}, {"content", content(system_word, form)}});
    const std::string prompt =
        prompt_of(chat_template, {{"messages", Value::list({system, user_message(form)})}});
    return contains(prompt, system_word) && contains(prompt, user_word);
}

/// Whether a system message after other turns is rendered before them: it would change the start of the
/// prompt, and no later token of it would be in the cache.
bool moves_late_system(const ChatTemplate& chat_template, ContentForm form) {
    const Value answer = Value::dict({{"role", "assistant"}, {"content", content(text_word, form)}});
    const Value system = Value::dict({{"role", "system"}, {"content", content(system_word, form)}});
    const std::string prompt = prompt_of(
        chat_template, {{"messages", Value::list({user_message(form), answer, system, user_message(form)})}});
    return contains(prompt, system_word) && prompt.find(system_word) < prompt.find(user_word);
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

/// Returns turns of a call and its result. The text and the reasoning of the call's message may be empty.
std::vector<Turn> turns_with_call(const TemplateCapabilities& capabilities, const char* text,
                                  const char* reasoning) {
    Value arguments = Value::dict({{key_word, value_word}});
    if (capabilities.arguments == ArgumentsForm::text)
        arguments = Value(fmt::format(R"({{"{}":"{}"}})", key_word, value_word));
    return {{.role = "user", .content = user_word},
            {.role = "assistant",
             .content = text,
             .reasoning = reasoning,
             .calls = {{.id = call_id, .name = tool_word, .arguments = std::move(arguments)}}},
            {.role = "tool", .content = result_word, .tool_call_id = call_id, .tool_name = tool_word}};
}

std::string prompt_of(const ChatTemplate& chat_template, const TemplateCapabilities& capabilities,
                      std::vector<Turn> messages) {
    Turns turns = {.messages = std::move(messages), .tools = probe_tools().sequence()->items};
    set_thinking(turns.template_arguments, capabilities.reasoning_controls, Thinking::on);
    const auto prompt = chat_template.render(request_value(turns, capabilities), 0, SpelledTokens::all);
    return prompt ? prompt->text : std::string();
}

bool drops_text_beside_calls(const ChatTemplate& chat_template, const TemplateCapabilities& capabilities) {
    if (capabilities.arguments == ArgumentsForm::none)
        return false; // calls become text
    std::vector<Turn> turns = turns_with_call(capabilities, text_word, "");
    if (contains(prompt_of(chat_template, capabilities, turns), text_word))
        return false;
    turns[1].content.clear();
    turns.insert(turns.begin() + 1, {.role = "assistant", .content = text_word});
    const std::string split = prompt_of(chat_template, capabilities, turns);
    return !contains(split, text_word) || !contains(split, value_word) || !contains(split, result_word);
}

std::string reasoning_key(const std::string& text) {
    for (const std::string_view key : {"reasoning_content", ".thinking", "'thinking'", "\"thinking\""}) {
        if (contains(text, key))
            return key == "reasoning_content" ? std::string(key) : "thinking";
    }
    return contains(text, ".reasoning") ? "reasoning" : "reasoning_content";
}

bool renders_reasoning(const ChatTemplate& chat_template, const TemplateCapabilities& capabilities) {
    const std::vector<Turn> answered = {
        {.role = "user", .content = user_word},
        {.role = "assistant", .content = text_word, .reasoning = reasoning_word}};
    const auto renders = [&](std::vector<Turn> turns) {
        const std::string prompt = prompt_of(chat_template, capabilities, std::move(turns));
        // A word in quotes is a list of parts that is printed as one.
        return contains(prompt, reasoning_word) && !contains(prompt, std::string("'") + reasoning_word) &&
               !contains(prompt, std::string("\"") + reasoning_word);
    };
    return renders(answered) || renders(turns_with_call(capabilities, "", reasoning_word));
}

/// Finds the form in which the template renders reasoning; the member that its source names comes first.
void probe_reasoning(const ChatTemplate& chat_template, TemplateCapabilities& capabilities) {
    const std::string named = reasoning_key(chat_template.text());
    std::vector<std::string> keys = {named};
    for (const std::string_view key : reasoning_keys) {
        if (key != named && contains(chat_template.text(), key))
            keys.emplace_back(key);
    }
    const auto try_form = [&](ReasoningForm form, const std::string& key) {
        capabilities.reasoning_form = form;
        capabilities.reasoning_key = key;
        capabilities.renders_reasoning = renders_reasoning(chat_template, capabilities);
        return capabilities.renders_reasoning;
    };
    for (const std::string& key : keys) {
        if (try_form(ReasoningForm::member, key))
            return;
    }
    if (!try_form(ReasoningForm::parts, named))
        capabilities.reasoning_form = ReasoningForm::member;
}

} // namespace

TemplateCapabilities probe_capabilities(const ChatTemplate& chat_template) {
    TemplateCapabilities capabilities;
    capabilities.content = content_form(chat_template);
    capabilities.keeps_texts = keeps_texts(chat_template, capabilities.content);
    capabilities.arguments = arguments_form(chat_template, capabilities.content);
    capabilities.renders_system = renders_system(chat_template, capabilities.content);
    capabilities.moves_late_system = moves_late_system(chat_template, capabilities.content);
    capabilities.renders_tools = renders_tools(chat_template, capabilities.content);
    capabilities.reasoning_controls =
        probe_reasoning_controls(chat_template, user_message(capabilities.content));
    capabilities.can_think = !capabilities.reasoning_controls.switches.empty();
    capabilities.skips_thinking_by_default = capabilities.reasoning_controls.is_off_by_default;
    capabilities.drops_text_beside_calls = drops_text_beside_calls(chat_template, capabilities);
    probe_reasoning(chat_template, capabilities);
    return capabilities;
}

} // namespace etna::chat
