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
    other, ///< a template-specific role, see Message::role_name
};

/// A function call that the model requests.
struct ToolCall {
    std::string id; ///< ties the result to the call
    std::string name;
    std::string arguments; ///< JSON text of an object
};

/// One turn of a conversation, UTF-8.
struct Message {
    Role role = Role::user;
    std::string content;
    std::string reasoning = {};            ///< of an assistant: its reasoning before the answer
    std::vector<ToolCall> tool_calls = {}; ///< of an assistant
    std::string tool_call_id = {};         ///< of a tool: the id of the call that this result answers
    std::string tool_name = {};            ///< of a tool: the function's name
    std::string role_name = {};            ///< of Role::other: the template's name for it
};

} // namespace etna::chat
