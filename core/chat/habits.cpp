#include "core/chat/habits.hpp"

#include "core/chat/request_private.hpp"

#include <utility>

namespace etna::chat {
namespace {

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
std::string prompt_of(const ChatTemplate& chat_template, const Json& request) {
    const auto prompt = chat_template.render(text_of(request), 0);
    return prompt ? prompt.value() : std::string();
}

Json list_of(Json item) {
    Json list = Json::array();
    list.push_back(std::move(item));
    return list;
}

Json conversation(Json messages) {
    Json request = Json::object();
    request["messages"] = std::move(messages);
    return request;
}

Json content(const char* word, ContentForm form) {
    if (form == ContentForm::text)
        return word;
    return list_of(Json::object({{"type", "text"}, {"text", word}}));
}

Json user(ContentForm form) {
    return {{"role", "user"}, {"content", content(user_word, form)}};
}

Json tools() {
    Json properties = Json::object();
    properties[key_word] = {{"type", "string"}, {"description", "a word"}};
    const Json parameters = {{"type", "object"}, {"properties", properties}, {"required", list_of(key_word)}};
    const Json function = {{"name", tool_word}, {"description", "a tool"}, {"parameters", parameters}};
    return list_of(Json::object({{"type", "function"}, {"function", function}}));
}

/// A user message, a call and its result.
Json messages_with_call(ContentForm form, const Json& arguments) {
    const Json call = {
        {"id", call_id}, {"type", "function"}, {"function", {{"name", tool_word}, {"arguments", arguments}}}};
    Json messages = list_of(user(form));
    messages.push_back({{"role", "assistant"}, {"content", ""}, {"tool_calls", list_of(call)}});
    messages.push_back({{"role", "tool"},
                        {"tool_call_id", call_id},
                        {"name", tool_word},
                        {"content", content(result_word, form)}});
    return messages;
}

ContentForm content_form(const ChatTemplate& chat_template) {
    for (const ContentForm form : {ContentForm::text, ContentForm::parts}) {
        const std::string prompt = prompt_of(chat_template, conversation(list_of(user(form))));
        // A list printed as a Python repr does not count as rendered content.
        if (contains(prompt, user_word) && !contains(prompt, std::string("'") + user_word))
            return form;
    }
    return ContentForm::text;
}

bool writes_system(const ChatTemplate& chat_template, ContentForm form) {
    const Json system = {{"role", "system"}, {"content", content(system_word, form)}};
    Json messages = list_of(system);
    messages.push_back(user(form));
    const std::string prompt = prompt_of(chat_template, conversation(std::move(messages)));
    return contains(prompt, system_word) && contains(prompt, user_word);
}

bool writes_tools(const ChatTemplate& chat_template, ContentForm form) {
    Json request = conversation(list_of(user(form)));
    request["tools"] = tools();
    const std::string prompt = prompt_of(chat_template, request);
    return contains(prompt, tool_word) && contains(prompt, user_word);
}

ArgumentsForm arguments_form(const ChatTemplate& chat_template, ContentForm form) {
    Json object = Json::object();
    object[key_word] = value_word;
    const auto writes = [&](const Json& arguments, std::string_view spoilt) {
        Json request = conversation(messages_with_call(form, arguments));
        request["tools"] = tools();
        const std::string prompt = prompt_of(chat_template, request);
        return contains(prompt, value_word) && contains(prompt, result_word) && !contains(prompt, spoilt);
    };
    // The repr of a Python dict means wrong arguments; the tools themselves may be rendered as one.
    if (writes(object, std::string("{'") + key_word + "': '" + value_word))
        return ArgumentsForm::object;
    if (writes(text_of(object), std::string("{\\\"") + key_word)) // a string in a string
        return ArgumentsForm::text;
    return ArgumentsForm::none;
}

void learn_thinking(const ChatTemplate& chat_template, TemplateHabits& habits) {
    Json request = conversation(list_of(user(habits.content)));
    const std::string unasked = prompt_of(chat_template, request);
    const auto prompt = [&](bool thinks) {
        request["chat_template_kwargs"] = {{"enable_thinking", thinks}, {"thinking", thinks}};
        return prompt_of(chat_template, request);
    };
    const std::string off = prompt(false);
    habits.can_think = prompt(true) != off;
    habits.is_thoughtless_unasked = habits.can_think && unasked == off;
}

std::string reasoning_key(const std::string& text) {
    for (const std::string_view key : {"reasoning_content", ".thinking", "'thinking'", "\"thinking\""}) {
        if (contains(text, key))
            return key == "reasoning_content" ? std::string(key) : "thinking";
    }
    return contains(text, ".reasoning") ? "reasoning" : "reasoning_content";
}

} // namespace

TemplateHabits habits_of(const ChatTemplate& chat_template) {
    TemplateHabits habits;
    habits.content = content_form(chat_template);
    habits.arguments = arguments_form(chat_template, habits.content);
    habits.writes_system = writes_system(chat_template, habits.content);
    habits.writes_tools = writes_tools(chat_template, habits.content);
    learn_thinking(chat_template, habits);
    habits.reasoning_key = reasoning_key(chat_template.text());
    return habits;
}

} // namespace etna::chat
