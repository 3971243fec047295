#include "core/chat/template_report.hpp"

#include "core/chat/adapt.hpp"
#include "core/chat/conversation.hpp"

#include <utility>

namespace etna::chat {
namespace {

using jinja::Value;

const Message system_message = {.role = Role::system, .content = "system"};
const Message user_turn = {.role = Role::user, .content = "question"};
const Message answer_turn = {.role = Role::assistant, .content = "answer"};
const ToolCall first_call = {.id = "report001", .name = "tool", .arguments = R"({"key": "value"})"};
const ToolCall second_call = {.id = "report002", .name = "tool", .arguments = R"({"key": "other"})"};

Message call_turn(std::vector<ToolCall> calls) {
    return {.role = Role::assistant, .content = {}, .tool_calls = std::move(calls)};
}

Message result_turn(const ToolCall& call) {
    return {.role = Role::tool, .content = "result", .tool_call_id = call.id, .tool_name = call.name};
}

struct ReportedKind {
    const char* name;
    std::vector<Message> messages;
    bool has_tools = false;
};

std::vector<ReportedKind> reported_kinds() {
    Message text_and_call = call_turn({first_call});
    text_and_call.content = "text";
    Message thought = answer_turn;
    thought.reasoning = "reasoning";
    Message broken_call = call_turn({first_call});
    broken_call.tool_calls.front().arguments = "{\"key";
    const Message result = result_turn(first_call);
    return {
        {"a system message", {system_message, user_turn}},
        {"two system messages", {system_message, system_message, user_turn}},
        {"a system message between turns", {user_turn, answer_turn, system_message, user_turn}},
        {"a system message at the end", {user_turn, system_message}},
        {"two user messages", {user_turn, user_turn}},
        {"an assistant message at the start", {answer_turn, user_turn}},
        {"no user message", {system_message, answer_turn}},
        {"reasoning", {user_turn, thought}},
        {"tools", {user_turn}, true},
        {"a call and its result", {user_turn, call_turn({first_call}), result}, true},
        {"text beside a call", {user_turn, text_and_call, result}, true},
        {"two calls",
         {user_turn, call_turn({first_call, second_call}), result, result_turn(second_call)},
         true},
        {"a call without a result", {user_turn, call_turn({first_call}), user_turn}, true},
        {"a system message after a result",
         {user_turn, call_turn({first_call}), result, system_message},
         true},
        {"arguments that are not an object", {user_turn, broken_call, result}, true},
    };
}

std::vector<Value> reported_tools() {
    const Value property = Value::dict({{"type", "string"}, {"description", "a word"}});
    const Value parameters =
        Value::dict({{"type", "object"}, {"properties", Value::dict({{"key", property}})}});
    return {Value::dict(
        {{"type", "function"},
         {"function",
          Value::dict({{"name", first_call.name}, {"description", "a tool"}, {"parameters", parameters}})}})};
}

} // namespace

std::vector<ConversationReport> report_template(const ChatTemplate& chat_template) {
    std::vector<ConversationReport> reports;
    for (ReportedKind& kind : reported_kinds()) {
        const Conversation conversation = {.messages = std::move(kind.messages),
                                           .tools = kind.has_tools ? reported_tools() : std::vector<Value>()};
        auto prompt = render_adapted(chat_template, conversation, 0);
        ConversationReport report = {.conversation = kind.name};
        if (prompt) {
            report.changes = std::move(prompt->notes);
            report.dropped = std::move(prompt->dropped);
        } else {
            report.refusal = prompt.error().message;
        }
        if (!report.changes.empty() || !report.dropped.empty() || !report.refusal.empty())
            reports.push_back(std::move(report));
    }
    return reports;
}

} // namespace etna::chat
