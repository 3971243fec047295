#include "core/chat/chat_template.hpp"

#include "core/chat/request.hpp"
#include "core/jinja/json.hpp"
#include "core/jinja/value.hpp"

#include <array>
#include <utility>

namespace etna::chat {
namespace {

/// Request members that a template sees as variables of the same name.
constexpr std::array variables = {"messages",        "tools",    "documents",        "add_generation_prompt",
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
std::string prompt_of(const ChatTemplate& chat_template, const Json& request) {
    const auto prompt = chat_template.render(dump_json(request), 0);
    return prompt ? prompt.value() : std::string();
}

Json list_of(Json item) {
    Json list = Json::array();
    list.push_back(std::move(item));
    return list;
}

Json request_with(Json messages) {
    Json request = Json::object();
    request["messages"] = std::move(messages);
    return request;
}

Json content(const char* word, ContentForm form) {
    if (form == ContentForm::text)
        return word;
    return list_of(Json::object({{"type", "text"}, {"text", word}}));
}

Json user_message(ContentForm form) {
    return {{"role", "user"}, {"content", content(user_word, form)}};
}

Json probe_tools() {
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
    Json messages = list_of(user_message(form));
    messages.push_back({{"role", "assistant"}, {"content", ""}, {"tool_calls", list_of(call)}});
    messages.push_back({{"role", "tool"},
                        {"tool_call_id", call_id},
                        {"name", tool_word},
                        {"content", content(result_word, form)}});
    return messages;
}

ContentForm content_form(const ChatTemplate& chat_template) {
    for (const ContentForm form : {ContentForm::text, ContentForm::parts}) {
        const std::string prompt = prompt_of(chat_template, request_with(list_of(user_message(form))));
        // A list printed as a Python repr does not count as rendered content.
        if (contains(prompt, user_word) && !contains(prompt, std::string("'") + user_word))
            return form;
    }
    return ContentForm::text;
}

bool renders_system(const ChatTemplate& chat_template, ContentForm form) {
    const Json system = {{"role", "system"}, {"content", content(system_word, form)}};
    Json messages = list_of(system);
    messages.push_back(user_message(form));
    const std::string prompt = prompt_of(chat_template, request_with(std::move(messages)));
    return contains(prompt, system_word) && contains(prompt, user_word);
}

bool renders_tools(const ChatTemplate& chat_template, ContentForm form) {
    Json request = request_with(list_of(user_message(form)));
    request["tools"] = probe_tools();
    const std::string prompt = prompt_of(chat_template, request);
    return contains(prompt, tool_word) && contains(prompt, user_word);
}

ArgumentsForm arguments_form(const ChatTemplate& chat_template, ContentForm form) {
    Json object = Json::object();
    object[key_word] = value_word;
    const auto renders = [&](const Json& arguments, std::string_view wrong_form) {
        Json request = request_with(messages_with_call(form, arguments));
        request["tools"] = probe_tools();
        const std::string prompt = prompt_of(chat_template, request);
        return contains(prompt, value_word) && contains(prompt, result_word) && !contains(prompt, wrong_form);
    };
    // The repr of a Python dict means wrong arguments; the tools themselves may be rendered as one.
    if (renders(object, std::string("{'") + key_word + "': '" + value_word))
        return ArgumentsForm::object;
    if (renders(dump_json(object), std::string("{\\\"") + key_word)) // a string in a string
        return ArgumentsForm::text;
    return ArgumentsForm::none;
}

void probe_thinking(const ChatTemplate& chat_template, TemplateCapabilities& capabilities) {
    Json request = request_with(list_of(user_message(capabilities.content)));
    const std::string by_default = prompt_of(chat_template, request);
    const auto prompt = [&](bool thinks) {
        request["chat_template_kwargs"] = {{"enable_thinking", thinks}, {"thinking", thinks}};
        return prompt_of(chat_template, request);
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

Result<std::string> ChatTemplate::render(std::string_view request_json, int64_t now_unix_s) const {
    ETNA_TRY(auto parsed, parse_request(request_json));
    if (!continues_final_message(parsed))
        return render_request(request_json, now_unix_s);
    ETNA_TRY(const std::string sentinel, append_sentinel(parsed));
    ETNA_TRY(std::string prompt, render_request(dump_json(parsed), now_unix_s));
    return cut_at_sentinel(std::move(prompt), sentinel);
}

/// Renders without the cut for `continue_final_message`.
Result<std::string> ChatTemplate::render_request(std::string_view request_json, int64_t now_unix_s) const {
    // Parsed a second time, because nlohmann::json rounds integers of more than 64 bits.
    ETNA_TRY(const auto request, jinja::from_json(request_json, request_nesting_max));
    // If a name occurs twice, the later variable wins.
    jinja::Input input = {.variables = {{"add_generation_prompt", jinja::Value(true)},
                                        {"bos_token", jinja::Value(special_.bos)},
                                        {"eos_token", jinja::Value(special_.eos)}},
                          .now_unix_s = now_unix_s};
    for (const char* name : variables) {
        if (const jinja::Value* member = request.dict()->find(std::string_view(name)))
            input.variables.emplace_back(name, *member);
    }
    const jinja::Value* kwargs = request.dict()->find(std::string_view("chat_template_kwargs"));
    if (kwargs != nullptr && !kwargs->is(jinja::Type::none)) {
        if (!kwargs->is(jinja::Type::dict))
            return invalid_argument("`chat_template_kwargs` is not an object");
        for (const auto& [name, value] : kwargs->dict()->entries)
            input.variables.emplace_back(name.string(), value);
    }
    return template_.render(input);
}

} // namespace etna::chat
