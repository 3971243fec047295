#include "core/chat/turns.hpp"

#include "core/base/utf8.hpp"
#include "core/chat/request.hpp"
#include "core/jinja/json.hpp"

#include <algorithm>
#include <array>
#include <utility>

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
    auto value = jinja::from_json(text, request_nesting_max);
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

Value turn_value(const Turn& turn, const TemplateCapabilities& capabilities) {
    Entries entries = {{"role", turn.role}, {"content", content_value(turn.content, capabilities.content)}};
    const bool has_usual_key = capabilities.reasoning_key == reasoning_keys[0];
    if (!turn.reasoning.empty() && has_usual_key)
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
    if (!turn.reasoning.empty() && !has_usual_key)
        entries.emplace_back(capabilities.reasoning_key, turn.reasoning);
    return Value::dict(std::move(entries));
}

/// Sets both switches for thinking in `chat_template_kwargs`.
void set_thinking(NamedValues& arguments, bool thinks) {
    const auto kwargs = std::find_if(arguments.begin(), arguments.end(), [](const auto& argument) {
        return argument.first == "chat_template_kwargs" && argument.second.is(Type::dict);
    });
    Value switches = kwargs == arguments.end() ? Value::dict({}) : kwargs->second;
    for (const char* name : {"enable_thinking", "thinking"})
        switches = with_member(switches, name, thinks);
    set_argument(arguments, "chat_template_kwargs", std::move(switches));
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
    Turns turns = {
        .messages = {}, .tools = conversation.tools, .template_arguments = conversation.template_arguments};
    for (const Message& message : conversation.messages)
        turns.messages.push_back(turn_of(message, form));
    if (conversation.thinking != Thinking::template_default)
        set_thinking(turns.template_arguments, conversation.thinking == Thinking::on);
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
