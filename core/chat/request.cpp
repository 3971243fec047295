#include "core/chat/conversation.hpp"
#include "core/chat/request_private.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace etna::chat {
namespace {

Error wrong(std::string message, std::string hint = {}) {
    return {ErrorKind::invalid_argument, std::move(message), std::move(hint)};
}

constexpr std::string_view example = R"(it looks like {"messages": [{"role": "user", "content": "Hello"}]})";

Status check_messages(const Json& request) {
    const auto messages = request.find("messages");
    if (messages == request.end() || !messages->is_array())
        return wrong("the request has no list `messages`", std::string(example));
    for (std::size_t i = 0; i < messages->size(); ++i) {
        const Json& message = (*messages)[i];
        if (!message.is_object())
            return wrong(fmt::format("messages[{}] is no object", i), std::string(example));
        const auto role = message.find("role");
        if (role == message.end() || !role->is_string())
            return wrong(fmt::format("messages[{}] has no `role`", i), std::string(example));
    }
    return {};
}

Status check_tools(const Json& request) {
    const auto tools = request.find("tools");
    if (tools == request.end() || tools->is_null() || tools->is_array())
        return {};
    return wrong("`tools` is no list",
                 R"(it looks like [{"type": "function", "function": {"name": "now"}}])");
}

Status check_kwargs(const Json& request) {
    const auto kwargs = request.find("chat_template_kwargs");
    if (kwargs == request.end() || kwargs->is_null())
        return {};
    if (!kwargs->is_object())
        return wrong("`chat_template_kwargs` is no object");
    for (const auto& [name, value] : kwargs->items()) {
        if (is_own_variable(name))
            return wrong(fmt::format("`chat_template_kwargs.{}` {}", name, own_variable_problem));
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

} // namespace

bool is_own_variable(std::string_view name) {
    constexpr std::array<std::string_view, 6> own = {
        "messages", "tools", "add_generation_prompt", "continue_final_message", "bos_token", "eos_token"};
    return std::find(own.begin(), own.end(), name) != own.end();
}

Result<Json> parse_request(std::string_view json) {
    if (is_too_deep(json))
        return wrong(fmt::format("the request is nested more than {} levels deep", request_nesting_max));
    Json request = parse_json(json);
    if (request.is_discarded())
        return wrong("the request is no JSON", std::string(example));
    if (!request.is_object())
        return wrong("the request is no JSON object", std::string(example));
    ETNA_CHECK(check_messages(request));
    ETNA_CHECK(check_tools(request));
    ETNA_CHECK(check_kwargs(request));
    return request;
}

std::string text_of(const Json& json) {
    return dump_json(json);
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
        return wrong("a message's `content` is neither text nor a list of parts");
    std::string text;
    for (const Json& part : *content) {
        const std::string* const part_text = text_in(part);
        if (part_text == nullptr) {
            const std::string type = dump_json(part.is_object() ? part.value("type", Json("unknown")) : part);
            return wrong(
                fmt::format("a content part of type {} cannot be used: the model reads text only", type),
                "send text parts, or describe it in words");
        }
        if (!text.empty())
            text += '\n';
        text += *part_text;
    }
    return text;
}

} // namespace etna::chat
