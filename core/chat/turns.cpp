#include "core/chat/turns.hpp"

#include "core/base/utf8.hpp"
#include "core/chat/request.hpp"
#include "core/jinja/json.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::chat {
namespace {

using jinja::Type;
using jinja::Value;
using Entries = std::vector<std::pair<std::string, Value>>;

struct NamedRole {
    const char* name;
    Role role;
};
/// The first name of each role is the one that templates use.
constexpr std::array named_roles = {NamedRole{"system", Role::system},
                                    NamedRole{"user", Role::user},
                                    NamedRole{"assistant", Role::assistant},
                                    NamedRole{"tool", Role::tool},
                                    NamedRole{"developer", Role::system},
                                    NamedRole{"function", Role::tool}}; // the older name in OpenAI's API

Value parsed_or_text(const std::string& text) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
        return Value::dict({});
    auto value = jinja::from_json(text, request_nesting_max);
    if (value && value->is(Type::none))
        return Value::dict({});
    return value ? std::move(value).value() : Value(repaired_utf8(text));
}

/// An object may be encoded twice, as some clients do.
Value arguments_in_form(const Value& arguments, ArgumentsForm form) {
    if (form == ArgumentsForm::text && !arguments.is(Type::string))
        return jinja::compact_json(arguments);
    if (form != ArgumentsForm::object || !arguments.is(Type::string))
        return arguments;
    Value parsed = parsed_or_text(arguments.string());
    return parsed.is(Type::dict) ? parsed : arguments;
}

Turn turn_of(const Message& message, ArgumentsForm form) {
    const char* const role = name_of(message.role);
    Turn turn = {.role = role == nullptr ? repaired_utf8(message.role_name) : role,
                 .content = repaired_utf8(message.content),
                 .reasoning = repaired_utf8(message.reasoning),
                 .tool_call_id = repaired_utf8(message.tool_call_id),
                 .tool_name = repaired_utf8(message.tool_name)};
    for (const ToolCall& call : message.tool_calls) {
        turn.calls.push_back({repaired_utf8(call.id), repaired_utf8(call.name),
                              arguments_in_form(parsed_or_text(call.arguments), form)});
    }
    return turn;
}

Value call_value(const TurnCall& call) {
    Value function = Value::dict({{"name", call.name}, {"arguments", call.arguments}});
    return Value::dict({{"id", call.id}, {"type", "function"}, {"function", std::move(function)}});
}

Value content_value(const std::string& content, ContentForm form) {
    return form == ContentForm::text ? Value(content)
                                     : Value::list({Value::dict({{"type", "text"}, {"text", content}})});
}

/// Returns the content with the reasoning as a part before the text.
Value content_with_reasoning(const Turn& turn) {
    std::vector<Value> parts = {Value::dict({{"type", "thinking"}, {"thinking", turn.reasoning}})};
    if (!turn.content.empty())
        parts.push_back(Value::dict({{"type", "text"}, {"text", turn.content}}));
    return Value::list(std::move(parts));
}

Value turn_value(const Turn& turn, const TemplateCapabilities& capabilities) {
    const bool has_parts = !turn.reasoning.empty() && capabilities.reasoning_form == ReasoningForm::parts;
    const bool has_key = !turn.reasoning.empty() && !has_parts;
    Entries entries = {{"role", turn.role},
                       {"content", has_parts ? content_with_reasoning(turn)
                                             : content_value(turn.content, capabilities.content)}};
    const bool has_usual_key = capabilities.reasoning_key == reasoning_keys[0];
    if (has_key && has_usual_key)
        entries.emplace_back(reasoning_keys[0], turn.reasoning);
    std::vector<Value> calls;
    calls.reserve(turn.calls.size());
    for (const TurnCall& call : turn.calls)
        calls.push_back(call_value(call));
    if (!calls.empty())
        entries.emplace_back("tool_calls", Value::list(std::move(calls)));
    if (!turn.tool_call_id.empty())
        entries.emplace_back("tool_call_id", turn.tool_call_id);
    if (!turn.tool_name.empty())
        entries.emplace_back("name", turn.tool_name);
    if (has_key && !has_usual_key)
        entries.emplace_back(capabilities.reasoning_key, turn.reasoning);
    return Value::dict(std::move(entries));
}

/// A call that has no result yet.
struct OpenCall {
    std::string id;         ///< unique among the calls of its message
    std::string written_id; ///< by the client; its result names this one
    std::string name;
};

/// Returns the call that the result answers: by its id, else the first of its name, else the first.
std::vector<OpenCall>::iterator answered_call(std::vector<OpenCall>& open, const Turn& result) {
    const auto with_id = std::ranges::find(open, result.tool_call_id, &OpenCall::written_id);
    if (with_id != open.end() || !result.tool_call_id.empty())
        return with_id;
    const auto of_name = std::ranges::find(open, result.tool_name, &OpenCall::name);
    return of_name != open.end() ? of_name : open.begin();
}

/// Gives ids to calls without one, or with that of an earlier call of the message, and to their results. Some
/// templates accept only nine letters and digits.
void complete_ids(std::vector<Turn>& messages) {
    std::vector<OpenCall> open;
    std::size_t calls = 0;
    for (Turn& message : messages) {
        if (!message.calls.empty())
            open.clear();
        std::set<std::string> ids; // of the message's calls
        for (TurnCall& call : message.calls) {
            ++calls;
            const std::string written_id = call.id;
            if (call.id.empty() || !ids.insert(call.id).second)
                call.id = fmt::format("call{:05}", calls);
            open.push_back({call.id, written_id, call.name});
        }
        if (message.role != "tool")
            continue;
        const auto answered = answered_call(open, message);
        if (answered == open.end())
            continue;
        message.tool_call_id = answered->id;
        open.erase(answered);
    }
}

} // namespace

const char* name_of(Role role) {
    const auto* const named = std::find_if(named_roles.begin(), named_roles.end(),
                                           [role](const NamedRole& one) { return one.role == role; });
    return named == named_roles.end() ? nullptr : named->name;
}

Role role_named(std::string_view name) {
    const auto* const named = std::find_if(named_roles.begin(), named_roles.end(),
                                           [name](const NamedRole& one) { return one.name == name; });
    return named == named_roles.end() ? Role::other : named->role;
}

void set_argument(NamedValues& arguments, std::string_view name, Value value) {
    std::erase_if(arguments, [name](const auto& argument) { return argument.first == name; });
    arguments.emplace_back(name, std::move(value));
}

Turns turns_of(const Conversation& conversation, ArgumentsForm form) {
    Turns turns = {.messages = {},
                   .tools = conversation.tools,
                   .template_arguments = conversation.template_arguments,
                   .arguments = form};
    for (const Message& message : conversation.messages)
        turns.messages.push_back(turn_of(message, form));
    complete_ids(turns.messages);
    return turns;
}

Value request_value(const Turns& turns, const TemplateCapabilities& capabilities) {
    std::vector<Value> messages;
    messages.reserve(turns.messages.size());
    for (const Turn& turn : turns.messages)
        messages.push_back(turn_value(turn, capabilities));
    Entries request = {{"messages", Value::list(std::move(messages))}};
    if (!turns.tools.empty())
        request.emplace_back("tools", Value::list(turns.tools));
    request.insert(request.end(), turns.template_arguments.begin(), turns.template_arguments.end());
    return Value::dict(std::move(request));
}

} // namespace etna::chat
