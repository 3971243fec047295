#pragma once

#include "core/base/result.hpp"
#include "core/jinja/value.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::chat {

enum class Role : uint8_t {
    system,
    user,
    assistant,
    tool,
    other, ///< a template-specific role, see Message::role_name
};

/// A function call by the model.
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

/// Returns an empty message of the role by its name in OpenAI's API: `developer` is a system, `function` a
/// tool, and unknown roles are Role::other.
Message message_of_role(std::string_view role);

/// Whether the model thinks before it answers, if its template has a switch for that.
enum class Thinking : uint8_t { template_default, on, off };

/// How many calls an answer may contain, if calls are constrained to the offered tools.
enum class CallCount : uint8_t { any, one };

/// The special tokens that a conversation's strings can spell. Those of kind user-defined ("<think>") are a
/// part of the text that models expect.
enum class SpelledTokens : uint8_t {
    user_defined, ///< the name of a control token ("<|im_end|>") is text
    all,
};

/// Whether the template variable of that name is set from the conversation and the model. Such a name is not
/// allowed in `chat_template_kwargs`, because another value would render another conversation.
bool is_reserved_variable(std::string_view name);

/// The error text for such a member, to follow its name.
inline constexpr std::string_view reserved_variable_problem =
    "is set from the conversation and the model, and cannot be overridden";

/// Variables of a template by name, or members of a request; the later one of a name counts.
using NamedValues = std::vector<std::pair<std::string, jinja::Value>>;

/// The input of a chat request: messages, tools and template arguments.
struct Conversation {
    std::vector<Message> messages = {};
    std::vector<jinja::Value> tools = {}; ///< as in OpenAI's API; empty: none
    Thinking thinking = Thinking::template_default;
    /// The request members other than messages and tools that reach the template, such as `documents`,
    /// `chat_template_kwargs`, `continue_final_message`.
    NamedValues template_arguments = {};
    /// The required tool: a name requires one call of that tool, an empty name at least one call of any tool.
    /// The answer then consists of calls only.
    std::optional<std::string> required_tool = {};
    CallCount calls = CallCount::any;
    SpelledTokens spelled_tokens = SpelledTokens::user_defined;
};

/// Parses the JSON text of a chat request. Errors: invalid_argument (not a JSON object, or nested too
/// deeply).
Result<jinja::Value> parse_request(std::string_view json);

/// Reads a chat request as in OpenAI's API, for which see ChatTemplate::render(). Content parts become text;
/// reasoning is also read from `reasoning` and `thinking`. Unknown roles become Role::other. Errors:
/// invalid_argument, naming the member.
Result<Conversation> read_conversation(const jinja::Value& request);

/// Returns the conversation as a chat request: the inverse of read_conversation(), except for
/// `required_tool`, `calls` and `spelled_tokens`. Reasoning goes into `reasoning_content`, and `thinking`
/// into `chat_template_kwargs`. Arguments that are not JSON, or nested too deeply, are strings, unchanged.
jinja::Value request_value(const Conversation& conversation);

} // namespace etna::chat
