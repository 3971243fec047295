#include "core/chat/conversation.hpp"

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

Result<ToolCall> read_call(const std::string& id, const Value* function) {
    if (function == nullptr || !function->is(Type::dict))
        return invalid_argument("a tool call has no `function`");
    ToolCall call = {.id = id, .name = text_member(*function, "name"), .arguments = "{}"};
    const Value* const arguments = find_member(*function, "arguments");
    if (arguments != nullptr && !arguments->is(Type::none))
        call.arguments = arguments->is(Type::string) ? arguments->string() : jinja::compact_json(*arguments);
    return call;
}

/// Generates ids for the older `function_call` form, which has none: some templates require matching ids on a
/// call and its result.
class LegacyCallIds {
public:
    void give(Message& message, const Value& value) {
        if (find_member(value, "function_call") != nullptr && !message.tool_calls.empty() &&
            message.tool_calls.front().id.empty()) {
            last_ = fmt::format("call{:05}", ++calls_);
            message.tool_calls.front().id = last_;
        }
        if (text_member(value, "role") == "function" && message.tool_call_id.empty())
            message.tool_call_id = last_;
    }

private:
    std::string last_;
    std::size_t calls_ = 0;
};

Result<Message> read_message(const Value& value) {
    Message message = message_of_role(text_member(value, "role"));
    ETNA_TRY(message.content, content_text(value));
    for (const std::string_view key : reasoning_keys) {
        if (message.reasoning.empty())
            message.reasoning = text_member(value, key);
    }
    message.tool_call_id = text_member(value, "tool_call_id");
    message.tool_name = text_member(value, "name");
    if (const Value* const call = find_member(value, "function_call");
        call != nullptr && call->is(Type::dict)) {
        ETNA_TRY(auto read, read_call("", call));
        message.tool_calls.push_back(std::move(read));
    }
    const Value* const calls = find_member(value, "tool_calls");
    if (calls == nullptr || !calls->is(Type::list))
        return message;
    for (const Value& call : calls->sequence()->items) {
        ETNA_TRY(auto read, read_call(text_member(call, "id"), find_member(call, "function")));
        message.tool_calls.push_back(std::move(read));
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

Result<Conversation> read_conversation(const Value& request) {
    ETNA_CHECK(check_request(request));
    Conversation conversation;
    LegacyCallIds ids;
    for (const Value& message : find_member(request, "messages")->sequence()->items) {
        ETNA_TRY(auto read, read_message(message));
        ids.give(read, message);
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
    return request_value(turns_of(conversation, ArgumentsForm::none), openai);
}

} // namespace etna::chat
