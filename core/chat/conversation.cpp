#include "core/chat/conversation.hpp"

#include "core/chat/request.hpp"

namespace etna::chat {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(Role role) {
    switch (role) {
    case Role::system:
        return "system";
    case Role::user:
        return "user";
    case Role::assistant:
        return "assistant";
    case Role::tool:
        break;
    }
    return "tool";
}

Json parsed_or_text(const std::string& text) {
    Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    return json.is_discarded() ? Json(text) : json;
}

Json call_json(const ToolCall& call) {
    Json function = {{"name", call.name}, {"arguments", parsed_or_text(call.arguments)}};
    return {{"id", call.id}, {"type", "function"}, {"function", std::move(function)}};
}

Json message_json(const Message& message) {
    Json json = {{"role", name_of(message.role)}, {"content", message.content}};
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

} // namespace

std::string request_json(const Conversation& conversation) {
    Json request = Json::object();
    request["messages"] = Json::array();
    for (const Message& message : conversation.messages)
        request["messages"].push_back(message_json(message));
    if (!conversation.tools.empty())
        request["tools"] = parsed_or_text(conversation.tools);
    if (conversation.thinking != Thinking::as_template_says) {
        const bool thinks = conversation.thinking == Thinking::on;
        request["chat_template_kwargs"] = {{"enable_thinking", thinks}, {"thinking", thinks}};
    }
    return text_of(request);
}

} // namespace etna::chat
