#pragma once

#include "core/base/result.hpp"
#include "core/chat/message.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::chat {

/// Whether the model shall think before it answers, where its template has a switch for that.
enum class Thinking : uint8_t { as_template_says, on, off };

/// How many tools an answer may call, where calls are kept to what was offered.
enum class CallCount : uint8_t { any, one };

/// Whether a template's variable of that name is made of the conversation and the model, so that no
/// `chat_template_kwargs` may have it: with another value the prompt would be of another conversation.
bool is_own_variable(std::string_view name);

/// What is wrong with such a member, behind its name.
inline constexpr std::string_view own_variable_problem =
    "is what the template gets of the conversation and the model, and cannot be replaced";

/// What a model is asked to go on with.
struct Conversation {
    std::vector<Message> messages = {};
    std::string tools = {}; ///< JSON text: a list of tools as in OpenAI's API; empty for none
    Thinking thinking = Thinking::as_template_says;
    /// JSON text of an object: what of a request reaches the template beside messages and tools, as
    /// `documents`, `chat_template_kwargs`, `continue_final_message`; empty for none.
    std::string template_arguments = {};
    /// The tool that has to be called, by name and then once, or any for an empty name: the answer is nothing
    /// but calls.
    std::optional<std::string> demanded_tool = {};
    CallCount calls = CallCount::any;
};

/// The conversation as a chat request of OpenAI's API, which ChatTemplate renders: JSON text. Reasoning
/// stands in `reasoning_content`. Arguments and tools that are no JSON are written as strings, as they are.
std::string request_json(const Conversation& conversation);

/// The way back, all but `thinking`, `demanded_tool` and `calls`: content parts become text, and reasoning is
/// read from `reasoning` and `thinking` too. Roles that have no name here are the template's matter. Errors:
/// invalid_argument, naming the member.
Result<Conversation> parse_conversation(std::string_view request_json);

} // namespace etna::chat
