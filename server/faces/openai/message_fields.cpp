#include "server/faces/openai/message_fields.hpp"

#include "server/api/content_parts.hpp"
#include "server/faces/openai/tool_fields.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// The member of a part that contains its text, by its type; empty for non-text. A refusal is the assistant's
/// text in place of an answer.
std::string_view text_member(const Json& part, bool is_assistant) {
    if (!part.is_object())
        return {};
    const Json type = part.value("type", Json());
    if (type == "text" || type == "input_text" || type == "output_text")
        return "text";
    return type == "refusal" && is_assistant ? "refusal" : std::string_view();
}

/// Whether the part is an assistant's reasoning, which chat::read_conversation() reads.
bool is_reasoning(const Json& part) {
    const Json type = part.is_object() ? part.value("type", Json()) : Json();
    return type == "thinking" || type == "reasoning";
}

void check_part(Fields& message, std::size_t index, const Json& part, bool is_assistant) {
    if (is_assistant && is_reasoning(part))
        return;
    const std::string name = fmt::format("content[{}]", index);
    const std::string_view member = text_member(part, is_assistant);
    if (part.is_object() && !part.contains("type"))
        return message.refuse(name + ".type", "is required", "missing_required_parameter");
    if (member.empty())
        return api::refuse_part(message, name, part);
    const auto text = part.find(std::string(member));
    if (text == part.end() || !text->is_string())
        message.refuse(name, fmt::format("must have a string `{}`; this model reads text only", member));
}

void check_content(Fields& message, bool is_assistant) {
    const Json* const content = message.any("content");
    if (content == nullptr || content->is_string())
        return;
    if (!content->is_array())
        return message.refuse("content", "must be a string or a list of parts", "invalid_type");
    for (std::size_t i = 0; i < content->size() && !message.problem(); ++i)
        check_part(message, i, (*content)[i], is_assistant);
}

bool is_function(const Json& function) {
    return function.is_object() && function.contains("name") && function["name"].is_string();
}

bool is_call(const Json& call) {
    if (is_named_custom(call))
        return call["custom"].value("input", Json()).is_string();
    return call.is_object() && call.contains("function") && is_function(call["function"]);
}

/// Checks the calls of an assistant message: `tool_calls`, and OpenAI's deprecated `function_call`.
void check_calls(Fields& message) {
    const Json* const calls = message.list("tool_calls");
    for (std::size_t i = 0; calls != nullptr && i < calls->size(); ++i) {
        if (!is_call((*calls)[i])) {
            return message.refuse(
                fmt::format("tool_calls[{}]", i),
                R"(must be {"id": ..., "type": "function", "function": {"name": ..., "arguments": ...}} )"
                R"(or {"id": ..., "type": "custom", "custom": {"name": ..., "input": ...}})");
        }
    }
    const Json* const legacy = message.object("function_call");
    if (legacy != nullptr && !is_function(*legacy))
        message.refuse("function_call", R"(must be {"name": ..., "arguments": ...})");
}

} // namespace

std::optional<Json> with_file_texts(Fields& fields, const Json& messages, const api::FileTexts& files) {
    std::optional<Json> replaced;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (!messages[i].is_object() || !messages[i].contains("content"))
            continue;
        const Json& content = messages[i]["content"];
        for (std::size_t part = 0; content.is_array() && part < content.size(); ++part) {
            if (!api::is_file_part(content[part]))
                continue;
            const auto text =
                files.read(fields, fmt::format("messages[{}].content[{}]", i, part), content[part]);
            if (!text)
                return std::nullopt;
            if (!replaced)
                replaced = messages;
            (*replaced)[i]["content"][part] = {{"type", "text"}, {"text", *text}};
        }
    }
    return replaced;
}

void check_messages(Fields& fields, const Json& messages) {
    if (messages.empty())
        fields.refuse("messages", "is empty");
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const std::string path = fmt::format("messages[{}]", i);
        if (!messages[i].is_object())
            return fields.refuse(path, "must be an object", "invalid_type");
        Fields message(messages[i], path);
        message.require("role");
        if (message.text("role") == "") // other roles may be known to the template
            message.refuse("role", "is empty", "invalid_value");
        check_content(message, messages[i].value("role", Json()) == "assistant");
        check_calls(message);
        if (message.problem())
            return fields.adopt(*message.problem());
    }
}

std::string text_of_content(const Json& message) {
    const auto content = message.find("content");
    if (content == message.end() || content->is_null())
        return {};
    if (content->is_string())
        return content->get<std::string>();
    std::string text;
    for (const Json& part : *content) {
        if (const std::string_view member = text_member(part, /*is_assistant=*/true); !member.empty())
            text += part[std::string(member)].get<std::string>();
    }
    return text;
}

} // namespace etna::server::openai
