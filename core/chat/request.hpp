#pragma once

#include "core/base/result.hpp"
#include "core/jinja/value.hpp"

#include <array>
#include <string>
#include <string_view>

// Internal to core/chat: chat requests as values, in the form of OpenAI's API.
namespace etna::chat {

constexpr std::size_t request_nesting_max = 200;

/// Checks that `messages` is a list of objects with a string `role`, and that `tools` is a list, null or
/// absent. Errors: invalid_argument, naming the member.
Status check_request(const jinja::Value& request);

/// Members of an assistant message that may hold its reasoning.
inline constexpr std::array<std::string_view, 3> reasoning_keys = {"reasoning_content", "reasoning",
                                                                   "thinking"};

/// Returns the member of that name; null if `object` is not a dict or has none.
const jinja::Value* find_member(const jinja::Value& object, std::string_view name);

/// Returns the member of that name if it is a string; else an empty string.
std::string text_member(const jinja::Value& object, std::string_view name);

/// Returns a copy of the dict with the member set.
jinja::Value with_member(const jinja::Value& object, std::string_view name, jinja::Value value);

/// The text of a message's `content`, and the reasoning of its parts.
struct MessageText {
    std::string content;
    std::string reasoning;
};

/// Reads `content`: a string, or the parts of a list, joined by line breaks; empty for null. An assistant's
/// parts may be reasoning: {"type": "thinking", "thinking": ...}, whose text is a string or a list of text
/// parts. Error: invalid_argument (a part that is not text; the error names its type).
Result<MessageText> message_text(const jinja::Value& message);

/// Whether the request asks for its last message to be continued (`continue_final_message`).
bool continues_final_message(const jinja::Value& request);

/// A request whose last message ends with a sentinel, which occurs nowhere else in it.
struct ContinuedRequest {
    jinja::Value request;
    std::string sentinel;
};

/// Appends a sentinel to the text of the last message and turns `add_generation_prompt` off. Errors:
/// invalid_argument (the last message is not from the assistant or has no text, or the request also sets
/// `add_generation_prompt`).
Result<ContinuedRequest> append_sentinel(const jinja::Value& request);

/// Returns the prompt up to the sentinel, without the white space before it if the template trims content.
/// Error: invalid_argument (the sentinel is not in the prompt).
Result<std::string> cut_at_sentinel(std::string prompt, const std::string& sentinel);

} // namespace etna::chat
