#include "core/chat/request.hpp"

#include "core/chat/conversation.hpp"
#include "core/jinja/json.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::chat {
namespace {

using jinja::Type;
using jinja::Value;

Error invalid_request(std::string message, std::string hint = {}) {
    return {ErrorKind::invalid_argument, std::move(message), std::move(hint)};
}

constexpr std::string_view example =
    R"(send a request such as {"messages": [{"role": "user", "content": "Hello"}]})";

Status check_messages(const Value& request) {
    const Value* const messages = find_member(request, "messages");
    if (messages == nullptr || !messages->is(Type::list))
        return invalid_request("`messages` is missing or not a list", std::string(example));
    const std::vector<Value>& items = messages->sequence()->items;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!items[i].is(Type::dict))
            return invalid_request(fmt::format("messages[{}] is not an object", i), std::string(example));
        const Value* const role = find_member(items[i], "role");
        if (role == nullptr || !role->is(Type::string))
            return invalid_request(fmt::format("messages[{}] has no `role`", i), std::string(example));
    }
    return {};
}

Status check_tools(const Value& request) {
    const Value* const tools = find_member(request, "tools");
    if (tools == nullptr || tools->is(Type::none) || tools->is(Type::list))
        return {};
    return invalid_request("`tools` is not a list",
                           R"(send a list such as [{"type": "function", "function": {"name": "now"}}])");
}

Status check_kwargs(const Value& request) {
    const Value* const kwargs = find_member(request, "chat_template_kwargs");
    if (kwargs == nullptr || kwargs->is(Type::none))
        return {};
    if (!kwargs->is(Type::dict))
        return invalid_request("`chat_template_kwargs` is not an object");
    for (const auto& [name, value] : kwargs->dict()->entries) {
        if (is_reserved_variable(name.string())) {
            return invalid_request(
                fmt::format("`chat_template_kwargs.{}` {}", name.string(), reserved_variable_problem));
        }
    }
    return {};
}

/// Returns the text of a content part; nothing if it is not text. A refusal is an assistant's text, too.
std::optional<std::string> text_in(const Value& part) {
    const Value* const type = find_member(part, "type");
    const std::string name = type == nullptr ? "text" : text_member(part, "type");
    const bool is_text = name == "text" || name == "input_text" || name == "output_text" || name == "refusal";
    const Value* const text = is_text ? find_member(part, name == "refusal" ? name : "text") : nullptr;
    if (text == nullptr || !text->is(Type::string))
        return std::nullopt;
    return text->string();
}

/// Returns the text of a part of reasoning: Mistral's and Anthropic's `thinking`, or `reasoning`; nothing if
/// the part has none.
std::optional<std::string> reasoning_in(const Value& part) {
    const std::string type = text_member(part, "type");
    if (type != "thinking" && type != "reasoning")
        return std::nullopt;
    const Value* const text = find_member(part, find_member(part, type) != nullptr ? type : "text");
    if (text != nullptr && text->is(Type::string))
        return text->string();
    if (text == nullptr || !text->is(Type::list))
        return std::nullopt;
    std::string joined;
    for (const Value& inner : text->sequence()->items) {
        const std::optional<std::string> inner_text = text_in(inner);
        if (!inner_text)
            return std::nullopt;
        joined += *inner_text;
    }
    return joined;
}

Error unusable_part(const Value& part) {
    const Value* const type = find_member(part, "type");
    const std::string shown = !part.is(Type::dict) ? jinja::compact_json(part)
                              : type == nullptr    ? R"("unknown")"
                                                   : jinja::compact_json(*type);
    return invalid_request(
        fmt::format("a content part of type {} cannot be used: the model reads text only", shown),
        "send text parts only");
}

void append_line(std::string& text, const std::string& more) {
    if (!text.empty())
        text += '\n';
    text += more;
}

Error cannot_continue(std::string problem) {
    return {ErrorKind::invalid_argument, fmt::format("`continue_final_message`: {}", problem),
            "end the messages with an assistant message that has text"};
}

/// Whether a string in `value`, or a name, contains `text`.
bool mentions(const Value& value, const std::string& text) {
    if (value.is(Type::string))
        return value.string().find(text) != std::string::npos;
    if (value.is_sequence()) {
        const auto& items = value.sequence()->items;
        return std::any_of(items.begin(), items.end(),
                           [&](const Value& item) { return mentions(item, text); });
    }
    if (!value.is(Type::dict))
        return false;
    const auto& entries = value.dict()->entries;
    return std::any_of(entries.begin(), entries.end(), [&](const jinja::Dict::Entry& entry) {
        return mentions(entry.key, text) || mentions(entry.value, text);
    });
}

/// Returns the content with `end` after its text, or after the last text of its parts; nothing if it has
/// none.
std::optional<Value> with_end(const Value& content, const std::string& end) {
    if (content.is(Type::string))
        return Value(content.string() + end);
    if (!content.is(Type::list))
        return std::nullopt;
    std::vector<Value> parts = content.sequence()->items;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        const Value* const text = find_member(*part, "text");
        if (text == nullptr || !text->is(Type::string))
            continue;
        *part = with_member(*part, "text", text->string() + end);
        return Value::list(std::move(parts));
    }
    return std::nullopt;
}

} // namespace

bool is_reserved_variable(std::string_view name) {
    constexpr std::array<std::string_view, 6> reserved = {
        "messages", "tools", "add_generation_prompt", "continue_final_message", "bos_token", "eos_token"};
    return std::find(reserved.begin(), reserved.end(), name) != reserved.end();
}

Result<Value> parse_request(std::string_view json) {
    auto request = jinja::from_json(json, request_nesting_max);
    if (!request) {
        return invalid_request("the request cannot be read: " + request.error().message,
                               std::string(example));
    }
    if (!request->is(Type::dict))
        return invalid_request("the request is not a JSON object", std::string(example));
    return request;
}

Status check_request(const Value& request) {
    if (request.depth() > request_nesting_max) {
        return invalid_request(
            fmt::format("the request is nested more than {} levels deep", request_nesting_max));
    }
    ETNA_CHECK(check_messages(request));
    ETNA_CHECK(check_tools(request));
    return check_kwargs(request);
}

const Value* find_member(const Value& object, std::string_view name) {
    return object.is(Type::dict) ? object.dict()->find(name) : nullptr;
}

std::string text_member(const Value& object, std::string_view name) {
    const Value* const member = find_member(object, name);
    return member != nullptr && member->is(Type::string) ? member->string() : std::string();
}

Value with_member(const Value& object, std::string_view name, Value value) {
    std::vector<std::pair<std::string, Value>> entries;
    for (const auto& [key, member] : object.dict()->entries)
        entries.emplace_back(key.string(), member);
    entries.emplace_back(name, std::move(value));
    return Value::dict(std::move(entries));
}

Result<MessageText> message_text(const Value& message) {
    const Value* const content = find_member(message, "content");
    if (content == nullptr || content->is(Type::none))
        return MessageText{};
    if (content->is(Type::string))
        return MessageText{.content = content->string(), .reasoning = {}};
    if (!content->is(Type::list))
        return invalid_request("a message's `content` is neither text nor a list of parts");
    const bool is_assistant = text_member(message, "role") == "assistant";
    MessageText text;
    for (const Value& part : content->sequence()->items) {
        if (const auto part_text = text_in(part)) {
            append_line(text.content, *part_text);
            continue;
        }
        const auto reasoning = is_assistant ? reasoning_in(part) : std::nullopt;
        if (!reasoning)
            return unusable_part(part);
        append_line(text.reasoning, *reasoning);
    }
    return text;
}

bool continues_final_message(const Value& request) {
    const Value* const member = find_member(request, "continue_final_message");
    return member != nullptr && member->is(Type::boolean) && member->boolean();
}

// As in Hugging Face Transformers (apply_chat_template): the message is rendered with a sentinel at its end,
// and the prompt is cut there. A search for the message's own text could match a short text elsewhere.
Result<ContinuedRequest> append_sentinel(const Value& request) {
    const Value* const turn = find_member(request, "add_generation_prompt");
    if (turn != nullptr && turn->is(Type::boolean) && turn->boolean())
        return cannot_continue("cannot be true together with `add_generation_prompt`");
    std::vector<Value> messages = find_member(request, "messages")->sequence()->items;
    if (messages.empty() || text_member(messages.back(), "role") != "assistant")
        return cannot_continue("the last message is not from the assistant");
    std::string sentinel = "ETNA-CONTINUES-HERE";
    while (mentions(request, sentinel))
        sentinel += '-';
    // If the space is missing from the prompt, the template trims content.
    const Value* const content = find_member(messages.back(), "content");
    auto continued = content == nullptr ? std::nullopt : with_end(*content, sentinel + " ");
    if (!continued)
        return cannot_continue("the last message has no text");
    messages.back() = with_member(messages.back(), "content", std::move(*continued));
    const Value open = with_member(request, "messages", Value::list(std::move(messages)));
    return ContinuedRequest{with_member(open, "add_generation_prompt", false), std::move(sentinel)};
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
