#include "core/chat/adaptations_private.hpp"

#include <string>
#include <utility>

namespace etna::chat {
namespace {

/// Calls `visit(function)` for each call of the message that has one.
template <class Visit>
void for_each_function(Json& message, const Visit& visit) {
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array())
        return;
    for (Json& call : *calls) {
        if (call.is_object() && call.contains("function") && call["function"].is_object())
            visit(call["function"]);
    }
}

void change_arguments(Json& function, ArgumentsForm form) {
    const auto arguments = function.find("arguments");
    if (arguments == function.end())
        return;
    if (form == ArgumentsForm::object && arguments->is_string()) {
        Json parsed = parse_json(arguments->get_ref<const std::string&>());
        if (parsed.is_object())
            *arguments = std::move(parsed);
    } else if (form == ArgumentsForm::text && !arguments->is_string()) {
        *arguments = text_of(*arguments);
    }
}

void rename_reasoning(Json& message, const std::string& key) {
    for (const char* other : reasoning_keys) {
        const auto found = message.find(other);
        if (other == key || found == message.end() || !found->is_string() || message.contains(key))
            continue;
        Json reasoning = std::move(*found);
        message.erase(other);
        message[key] = std::move(reasoning);
    }
}

} // namespace

Status normalise(Json& request) {
    for (const char* key : {"tools", "documents"}) {
        if (const auto member = request.find(key); member != request.end() && member->is_null())
            request.erase(key);
    }
    for (Json& message : request["messages"]) {
        ETNA_TRY(std::string text, content_text(message));
        message["content"] = std::move(text);
        if (has_role(message, "developer"))
            message["role"] = "system";
    }
    return {};
}

void change_forms(const TemplateHabits& habits, Json& messages) {
    for (Json& message : messages) {
        if (habits.content == ContentForm::parts) {
            Json part = Json::object({{"type", "text"}, {"text", message["content"]}});
            message["content"] = Json::array();
            message["content"].push_back(std::move(part));
        }
        for_each_function(message, [&](Json& function) { change_arguments(function, habits.arguments); });
        rename_reasoning(message, habits.reasoning_key);
    }
}

} // namespace etna::chat
