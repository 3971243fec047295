#include "core/chat/conversation.hpp"

#include "core/chat/reasoning_controls.hpp"
#include "core/chat/request.hpp"
#include "core/chat/turns.hpp"
#include "core/jinja/json.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace etna::chat {
namespace {

using jinja::Type;
using jinja::Value;

/// Request members other than messages and tools, see ChatTemplate::render().
constexpr std::array<std::string_view, 7> template_members = {
    "documents", "add_generation_prompt", "chat_template_kwargs",  "enable_thinking",
    "thinking",  "reasoning_effort",      "continue_final_message"};

/// Reads a call's function; the older `function_call` has no id. `place` names it in errors.
Result<ToolCall> read_call(std::string id, const Value* function, const std::string& place) {
    if (function == nullptr || !function->is(Type::dict))
        return invalid_argument(fmt::format("{} has no `function`", place));
    ToolCall call = {.id = std::move(id), .name = text_member(*function, "name"), .arguments = "{}"};
    if (call.name.empty())
        return invalid_argument(fmt::format("{} has no function name", place));
    const Value* const arguments = find_member(*function, "arguments");
    if (arguments != nullptr && !arguments->is(Type::none))
        call.arguments = arguments->is(Type::string) ? arguments->string() : jinja::compact_json(*arguments);
    return call;
}

Status read_calls(const Value& value, const std::string& place, std::vector<ToolCall>& calls) {
    if (const Value* const call = find_member(value, "function_call");
        call != nullptr && call->is(Type::dict)) {
        ETNA_TRY(auto read, read_call({}, call, place + ".function_call"));
        calls.push_back(std::move(read));
    }
    const Value* const given = find_member(value, "tool_calls");
    if (given == nullptr || !given->is(Type::list))
        return {};
    const std::vector<Value>& items = given->sequence()->items;
    for (std::size_t i = 0; i < items.size(); ++i) {
        ETNA_TRY(auto read, read_call(text_member(items[i], "id"), find_member(items[i], "function"),
                                      fmt::format("{}.tool_calls[{}]", place, i)));
        calls.push_back(std::move(read));
    }
    return {};
}

Result<Message> read_message(const Value& value, const std::string& place) {
    Message message = message_of_role(text_member(value, "role"));
    ETNA_TRY(MessageText text, message_text(value));
    message.content = std::move(text.content);
    if (message.content.empty()) // an answer of OpenAI's models in place of content
        message.content = text_member(value, "refusal");
    message.reasoning = std::move(text.reasoning);
    for (const std::string_view key : reasoning_keys) {
        if (message.reasoning.empty())
            message.reasoning = text_member(value, key);
    }
    message.tool_call_id = text_member(value, "tool_call_id");
    message.tool_name = text_member(value, "name");
    ETNA_CHECK(read_calls(value, place, message.tool_calls));
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

Result<Conversation> read_conversation(const Value& request) {
    ETNA_CHECK(check_request(request));
    Conversation conversation;
    const std::vector<Value>& messages = find_member(request, "messages")->sequence()->items;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        ETNA_TRY(auto read, read_message(messages[i], fmt::format("messages[{}]", i)));
        conversation.messages.push_back(std::move(read));
    }
    if (const Value* const tools = find_member(request, "tools"); tools != nullptr && tools->is(Type::list))
        conversation.tools = tools->sequence()->items;
    for (const std::string_view name : template_members) {
        const Value* const member = find_member(request, name);
        if (member != nullptr && !member->is(Type::none))
            conversation.template_arguments.emplace_back(name, *member);
    }
    return conversation;
}

Value request_value(const Conversation& conversation) {
    const TemplateCapabilities openai = {.reasoning_key = std::string(reasoning_keys[0])};
    Turns turns = turns_of(conversation, ArgumentsForm::none);
    set_thinking(turns.template_arguments, {}, conversation.thinking);
    return request_value(turns, openai);
}

} // namespace etna::chat
