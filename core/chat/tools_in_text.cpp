#include "core/chat/adaptations_private.hpp"

#include <string>
#include <utility>

// Tools as text, for templates without tool support, in Hermes syntax, which many models have seen in
// training (NousResearch, "Hermes Function Calling").
namespace etna::chat {
namespace {

std::string instructions(const Json& tools) {
    std::string text = "You can call functions. These are their signatures:\n<tools>\n";
    for (const Json& tool : tools)
        text += text_of(tool) + "\n";
    return text + "</tools>\nTo call one, answer with nothing but its name and its arguments in JSON:\n"
                  "<tool_call>\n{\"name\": NAME, \"arguments\": {...}}\n</tool_call>\n"
                  "Several calls follow one another. Results come in <tool_response> tags. When no function "
                  "helps, answer in words.";
}

/// Returns the message's content followed by its calls in Hermes syntax.
std::string text_of_calls(const Json& message) {
    std::string text = message["content"].get<std::string>();
    for (const Json& call : message["tool_calls"]) {
        if (!call.is_object() || !call.contains("function") || !call["function"].is_object())
            continue;
        const Json& function = call["function"];
        Json arguments = function.value("arguments", Json::object());
        if (arguments.is_string())
            arguments = parse_json(arguments.get<std::string>());
        const Json written = {{"name", function.value("name", Json(""))},
                              {"arguments", arguments.is_discarded() ? Json::object() : arguments}};
        if (!text.empty())
            text += '\n';
        text += "<tool_call>\n";
        text += text_of(written);
        text += "\n</tool_call>";
    }
    return text;
}

void put_into_system(Json& messages, const std::string& text) {
    if (messages.empty() || !has_role(messages.front(), "system")) {
        messages.insert(messages.begin(), Json::object({{"role", "system"}, {"content", text}}));
        return;
    }
    const auto system = messages.front()["content"].get<std::string>();
    messages.front()["content"] = system.empty() ? text : system + "\n\n" + text;
}

} // namespace

void tell_calls(Json& messages) {
    for (Json& message : messages) {
        if (has_role(message, "tool")) {
            const auto result = message["content"].get<std::string>();
            message = Json::object(
                {{"role", "user"}, {"content", "<tool_response>\n" + result + "\n</tool_response>"}});
        } else if (message.contains("tool_calls") && message["tool_calls"].is_array()) {
            message["content"] = text_of_calls(message);
            message.erase("tool_calls");
        }
    }
}

void tell_tools(Json& request) {
    put_into_system(request["messages"], instructions(request["tools"]));
    request.erase("tools");
}

} // namespace etna::chat
