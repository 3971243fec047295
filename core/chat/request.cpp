#include "core/chat/request.hpp"

#include "core/chat/conversation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace etna::chat {
namespace {

Error invalid_request(std::string message, std::string hint = {}) {
    return {ErrorKind::invalid_argument, std::move(message), std::move(hint)};
}

constexpr std::string_view example =
    R"(send a request such as {"messages": [{"role": "user", "content": "Hello"}]})";

Status check_messages(const Json& request) {
    const auto messages = request.find("messages");
    if (messages == request.end() || !messages->is_array())
        return invalid_request("`messages` is missing or not a list", std::string(example));
    for (std::size_t i = 0; i < messages->size(); ++i) {
        const Json& message = (*messages)[i];
        if (!message.is_object())
            return invalid_request(fmt::format("messages[{}] is not an object", i), std::string(example));
        const auto role = message.find("role");
        if (role == message.end() || !role->is_string())
            return invalid_request(fmt::format("messages[{}] has no `role`", i), std::string(example));
    }
    return {};
}

Status check_tools(const Json& request) {
    const auto tools = request.find("tools");
    if (tools == request.end() || tools->is_null() || tools->is_array())
        return {};
    return invalid_request("`tools` is not a list",
                           R"(send a list such as [{"type": "function", "function": {"name": "now"}}])");
}

Status check_kwargs(const Json& request) {
    const auto kwargs = request.find("chat_template_kwargs");
    if (kwargs == request.end() || kwargs->is_null())
        return {};
    if (!kwargs->is_object())
        return invalid_request("`chat_template_kwargs` is not an object");
    for (const auto& [name, value] : kwargs->items()) {
        if (is_reserved_variable(name)) {
            return invalid_request(
                fmt::format("`chat_template_kwargs.{}` {}", name, reserved_variable_problem));
        }
    }
    return {};
}

/// Whether brackets outside of strings nest too deep. Runs before the parser, because with a parser callback
/// the library rescans a list after each of its objects.
bool is_too_deep(std::string_view json) {
    int depth = 0;
    bool is_in_string = false;
    for (std::size_t i = 0; i < json.size() && depth <= request_nesting_max; ++i) {
        if (is_in_string && json[i] == '\\') {
            ++i; // skip the escaped character
        } else if (json[i] == '"') {
            is_in_string = !is_in_string;
        } else if (!is_in_string && (json[i] == '[' || json[i] == '{')) {
            ++depth;
        } else if (!is_in_string && (json[i] == ']' || json[i] == '}')) {
            --depth;
        }
    }
    return depth > request_nesting_max;
}

/// Returns the text of a content part; null if it is not text. A refusal is an assistant's text, too.
const std::string* text_in(const Json& part) {
    const std::string type = part.is_object() ? dump_json(part.value("type", Json("text"))) : "";
    const char* const member = type == R"("refusal")" ? "refusal" : "text";
    const bool is_text = type == R"("text")" || type == R"("input_text")" || type == R"("output_text")" ||
                         type == R"("refusal")";
    if (!is_text || !part.contains(member) || !part[member].is_string())
        return nullptr;
    return part[member].get_ptr<const std::string*>();
}

Error cannot_continue(std::string problem) {
    return {ErrorKind::invalid_argument, fmt::format("`continue_final_message`: {}", problem),
            "end the messages with an assistant message that has text"};
}

/// Returns the message's text: its content, or the last text part of its content; null if it has none.
Json* last_text(Json& message) {
    const auto content = message.find("content");
    if (content == message.end())
        return nullptr;
    if (content->is_string())
        return &*content;
    for (auto part = content->rbegin(); content->is_array() && part != content->rend(); ++part) {
        if (part->is_object() && part->contains("text") && (*part)["text"].is_string())
            return &(*part)["text"];
    }
    return nullptr;
}

} // namespace

bool is_reserved_variable(std::string_view name) {
    constexpr std::array<std::string_view, 6> reserved = {
        "messages", "tools", "add_generation_prompt", "continue_final_message", "bos_token", "eos_token"};
    return std::find(reserved.begin(), reserved.end(), name) != reserved.end();
}

Result<Json> parse_request(std::string_view json) {
    if (is_too_deep(json)) {
        return invalid_request(
            fmt::format("the request is nested more than {} levels deep", request_nesting_max));
    }
    Json request = parse_json(json);
    if (request.is_discarded())
        return invalid_request("the request is not JSON", std::string(example));
    if (!request.is_object())
        return invalid_request("the request is not a JSON object", std::string(example));
    ETNA_CHECK(check_messages(request));
    ETNA_CHECK(check_tools(request));
    ETNA_CHECK(check_kwargs(request));
    return request;
}

bool has_role(const Json& message, std::string_view role) {
    return message["role"].get_ref<const std::string&>() == role;
}

Result<std::string> content_text(const Json& message) {
    const auto content = message.find("content");
    if (content == message.end() || content->is_null())
        return std::string();
    if (content->is_string())
        return content->get<std::string>();
    if (!content->is_array())
        return invalid_request("a message's `content` is neither text nor a list of parts");
    std::string text;
    for (const Json& part : *content) {
        const std::string* const part_text = text_in(part);
        if (part_text == nullptr) {
            const std::string type =
                part.is_object() ? dump_json(part.value("type", Json("unknown"))) : dump_json(part);
            return invalid_request(
                fmt::format("a content part of type {} cannot be used: the model reads text only", type),
                "send text parts only");
        }
        if (!text.empty())
            text += '\n';
        text += *part_text;
    }
    return text;
}

bool continues_final_message(const Json& request) {
    const auto member = request.find("continue_final_message");
    return member != request.end() && *member == true;
}

// As in Hugging Face Transformers (apply_chat_template): the message is rendered with a sentinel at its end,
// and the prompt is cut there. A search for the message's own text could match a short text elsewhere.
Result<std::string> append_sentinel(Json& request) {
    if (const auto turn = request.find("add_generation_prompt"); turn != request.end() && *turn == true)
        return cannot_continue("cannot be true together with `add_generation_prompt`");
    Json& messages = request["messages"];
    if (messages.empty() || !has_role(messages.back(), "assistant"))
        return cannot_continue("the last message is not from the assistant");
    Json* const text = last_text(messages.back());
    if (text == nullptr)
        return cannot_continue("the last message has no text");
    const std::string request_text = dump_json(request);
    std::string sentinel = "ETNA-CONTINUES-HERE";
    while (request_text.find(sentinel) != std::string::npos)
        sentinel += '-';
    // If the space is missing from the prompt, the template trims content.
    *text = text->get<std::string>() + sentinel + " ";
    request["add_generation_prompt"] = false;
    return sentinel;
}

Result<std::string> cut_at_sentinel(std::string prompt, const std::string& sentinel) {
    const std::size_t offset = prompt.rfind(sentinel);
    if (offset == std::string::npos)
        return cannot_continue("the chat template does not render the last message's text");
    const bool is_trimmed = prompt.compare(offset + sentinel.size(), 1, " ") != 0;
    prompt.resize(offset);
    if (is_trimmed)
        prompt.resize(prompt.find_last_not_of(" \t\r\n") + 1);
    return prompt;
}

} // namespace etna::chat
