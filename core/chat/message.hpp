#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace etna::chat {

enum class Role : uint8_t {
    system,
    user,
    assistant,
    tool,
    other, ///< one of the template's own: Message::role_name
};

/// A function that the model wants called.
struct ToolCall {
    std::string id; ///< ties the result to the call
    std::string name;
    std::string arguments; ///< JSON text of an object
};

/// One turn of a conversation, UTF-8.
struct Message {
    Role role = Role::user;
    std::string content;
    std::string reasoning = {};            ///< of an assistant: what it thought before it answered
    std::vector<ToolCall> tool_calls = {}; ///< of an assistant
    std::string tool_call_id = {};         ///< of a tool: the call that this is the result of
    std::string tool_name = {};            ///< of a tool: its function's name
    std::string role_name = {};            ///< of Role::other: what the template calls it
};

} // namespace etna::chat
