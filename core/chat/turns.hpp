#pragma once

#include "core/chat/chat_template.hpp"
#include "core/chat/conversation.hpp"

#include <string>
#include <string_view>
#include <vector>

// Internal to core/chat: conversations in the form that is adapted to a template.
namespace etna::chat {

/// A past call, as ToolCall, with its arguments as a value: an object, or whatever else the model wrote.
struct TurnCall {
    std::string id;
    std::string name;
    jinja::Value arguments;
};

/// A message, as Message; the role by the name that templates use.
struct Turn {
    std::string role;
    std::string content = {};
    std::string reasoning = {};
    std::vector<TurnCall> calls = {};
    std::string tool_call_id = {};
    std::string tool_name = {};
};

/// A conversation that fallbacks change. Copies share the values.
struct Turns {
    std::vector<Turn> messages;
    std::vector<jinja::Value> tools;
    NamedValues template_arguments = {};
    ArgumentsForm arguments = ArgumentsForm::object; ///< of past calls
    bool tools_in_text = false;                      ///< see AdaptedPrompt
};

/// Returns the conversation as turns, in valid UTF-8. Parses the arguments of each call and converts them to
/// `form`; with ArgumentsForm::none they are unchanged. Empty arguments become an empty object. Calls without
/// an id get one, and each result without one the id of the call that it answers.
Turns turns_of(const Conversation& conversation, ArgumentsForm form);

/// Returns the turns as a request for ChatTemplate::render(), with content and reasoning in the template's
/// form.
jinja::Value request_value(const Turns& turns, const TemplateCapabilities& capabilities);

/// Returns the role's name for templates; null for Role::other.
const char* name_of(Role role);
Role role_named(std::string_view name);

/// Sets the argument of that name.
void set_argument(NamedValues& arguments, std::string_view name, jinja::Value value);

} // namespace etna::chat
