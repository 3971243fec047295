#include "core/chat/conversation.hpp"

#include "core/chat/request.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace etna::chat {
namespace {

/// Request members other than messages and tools, see ChatTemplate::render().
constexpr std::array template_members = {
    "documents", "add_generation_prompt", "chat_template_kwargs",  "enable_thinking",
    "thinking",  "reasoning_effort",      "continue_final_message"};

struct NamedRole {
    std::string_view name;
    Role role;
};
/// The first name of each role is the one that templates use.
constexpr std::array named_roles = {NamedRole{"system", Role::system},
                                    NamedRole{"user", Role::user},
                                    NamedRole{"assistant", Role::assistant},
                                    NamedRole{"tool", Role::tool},
                                    NamedRole{"developer", Role::system},
                                    NamedRole{"function", Role::tool}}; // the older name in OpenAI's API

std::string_view name_of(const Message& message) {
    for (const NamedRole& named : named_roles) {
        if (named.role == message.role)
            return named.name;
    }
    return message.role_name;
}

Json parsed_or_text(const std::string& text) {
    const Json json = parse_json(text);
    return json.is_discarded() ? Json(text) : json;
}

Json call_json(const ToolCall& call) {
    Json function = {{"name", call.name}, {"arguments", parsed_or_text(call.arguments)}};
    return {{"id", call.id}, {"type", "function"}, {"function", std::move(function)}};
}

Json message_json(const Message& message) {
    Json json = {{"role", name_of(message)}, {"content", message.content}};
    if (!message.reasoning.empty())
        json["reasoning_content"] = message.reasoning;
    for (const ToolCall& call : message.tool_calls)
        json["tool_calls"].push_back(call_json(call));
    if (!message.tool_call_id.empty())
        json["tool_call_id"] = message.tool_call_id;
    if (!message.tool_name.empty())
        json["name"] = message.tool_name;
    return json;
}

Role role_named(std::string_view name) {
    for (const NamedRole& named : named_roles) {
        if (named.name == name)
            return named.role;
    }
    return Role::other;
}

std::string text_at(const Json& object, const char* key) {
    const auto member = object.find(key);
    return member != object.end() && member->is_string() ? member->get<std::string>() : std::string();
}

Result<ToolCall> parse_call(const Json& call) {
    const bool has_function = call.is_object() && call.contains("function") && call["function"].is_object();
    if (!has_function)
        return invalid_argument("a tool call has no `function`");
    const Json& function = call["function"];
    const auto arguments = function.find("arguments");
    ToolCall parsed = {.id = text_at(call, "id"), .name = text_at(function, "name"), .arguments = "{}"};
    if (arguments != function.end() && !arguments->is_null())
        parsed.arguments = arguments->is_string() ? arguments->get<std::string>() : dump_json(*arguments);
    return parsed;
}

/// Generates ids for the older `function_call` form, which has none: some templates require matching ids on a
/// call and its result.
class LegacyCallIds {
public:
    void give(Message& message, const Json& json) {
        if (json.contains("function_call") && !message.tool_calls.empty() &&
            message.tool_calls.front().id.empty()) {
            last_ = fmt::format("call{:05}", ++calls_);
            message.tool_calls.front().id = last_;
        }
        if (has_role(json, "function") && message.tool_call_id.empty())
            message.tool_call_id = last_;
    }

private:
    std::string last_;
    std::size_t calls_ = 0;
};

Result<Message> parse_message(const Json& json) {
    Message message = message_of_role(text_at(json, "role"));
    ETNA_TRY(message.content, content_text(json));
    for (const char* key : reasoning_keys) {
        if (message.reasoning.empty())
            message.reasoning = text_at(json, key);
    }
    message.tool_call_id = text_at(json, "tool_call_id");
    message.tool_name = text_at(json, "name");
    if (const auto call = json.find("function_call"); call != json.end() && call->is_object()) {
        ETNA_TRY(auto parsed, parse_call({{"function", *call}}));
        message.tool_calls.push_back(std::move(parsed));
    }
    const auto calls = json.find("tool_calls");
    if (calls == json.end() || !calls->is_array())
        return message;
    for (const Json& call : *calls) {
        ETNA_TRY(auto parsed, parse_call(call));
        message.tool_calls.push_back(std::move(parsed));
    }
    return message;
}

} // namespace

Message message_of_role(std::string_view role) {
    Message message;
    message.role = role_named(role);
    if (message.role == Role::other)
        message.role_name = role;
    return message;
}

std::string request_json(const Conversation& conversation) {
    Json request = Json::object();
    request["messages"] = Json::array();
    for (const Message& message : conversation.messages)
        request["messages"].push_back(message_json(message));
    if (!conversation.tools.empty())
        request["tools"] = parsed_or_text(conversation.tools);
    const Json arguments = parsed_or_text(conversation.template_arguments);
    if (arguments.is_object())
        request.update(arguments);
    if (conversation.thinking != Thinking::template_default) {
        if (!request["chat_template_kwargs"].is_object())
            request["chat_template_kwargs"] = Json::object();
        const bool thinks = conversation.thinking == Thinking::on;
        request["chat_template_kwargs"]["enable_thinking"] = thinks;
        request["chat_template_kwargs"]["thinking"] = thinks;
    }
    return dump_json(request);
}

Result<Conversation> parse_conversation(std::string_view request_json) {
    ETNA_TRY(const Json request, parse_request(request_json));
    Conversation conversation;
    LegacyCallIds ids;
    for (const Json& message : request["messages"]) {
        ETNA_TRY(auto parsed, parse_message(message));
        ids.give(parsed, message);
        conversation.messages.push_back(std::move(parsed));
    }
    if (const auto tools = request.find("tools");
        tools != request.end() && tools->is_array() && !tools->empty())
        conversation.tools = dump_json(*tools);
    Json arguments = Json::object();
    for (const char* name : template_members) {
        if (const auto member = request.find(name); member != request.end() && !member->is_null())
            arguments[name] = *member;
    }
    if (!arguments.empty())
        conversation.template_arguments = dump_json(arguments);
    return conversation;
}

} // namespace etna::chat
