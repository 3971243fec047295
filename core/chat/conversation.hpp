#pragma once

#include "core/base/result.hpp"
#include "core/chat/message.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::chat {

/// Whether the model thinks before it answers, if its template has a switch for that.
enum class Thinking : uint8_t { as_template_says, on, off };

/// How many calls an answer may contain, if calls are constrained to the offered tools.
enum class CallCount : uint8_t { any, one };

/// Whether the template variable of that name is set from the conversation and the model. Such a name is not
/// allowed in `chat_template_kwargs`, because another value would render another conversation.
bool is_own_variable(std::string_view name);

/// The error text for such a member, to follow its name.
inline constexpr std::string_view own_variable_problem =
    "is what the template gets of the conversation and the model, and cannot be replaced";

/// The input of a chat request: messages, tools and template arguments.
struct Conversation {
    std::vector<Message> messages = {};
    std::string tools = {}; ///< JSON text: a list of tools as in OpenAI's API; empty: none
    Thinking thinking = Thinking::as_template_says;
    /// JSON text of an object: the request members other than messages and tools that reach the template,
    /// such as `documents`, `chat_template_kwargs`, `continue_final_message`; empty: none.
    std::string template_arguments = {};
    /// The required tool: a name requires one call of that tool, an empty name at least one call of any tool.
    /// The answer then consists of calls only.
    std::optional<std::string> demanded_tool = {};
    CallCount calls = CallCount::any;
};

/// Returns the conversation as the JSON text of an OpenAI chat request, for ChatTemplate. Reasoning goes into
/// `reasoning_content`. Arguments and tools that are not valid JSON are written as strings, unchanged.
std::string request_json(const Conversation& conversation);

/// Inverse of request_json(), except for `thinking`, `demanded_tool` and `calls`. Content parts become text;
/// reasoning is also read from `reasoning` and `thinking`. Unknown roles become Role::other. Errors:
/// invalid_argument, naming the member.
Result<Conversation> parse_conversation(std::string_view request_json);

} // namespace etna::chat
