#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <string>

// Private to core/chat: `continue_final_message`, for prompts that end inside the last message.
namespace etna::chat {

/// Whether the request asks for its last message to be continued.
bool continues_final_message(const Json& request);

/// Appends a sentinel to the text of the last message and turns `add_generation_prompt` off. Returns the
/// sentinel, which occurs nowhere else in the request. Errors: invalid_argument (the last message is not from
/// the assistant or has no text, or the request also sets `add_generation_prompt`).
Result<std::string> mark_final_message(Json& request);

/// Returns the prompt up to the sentinel, without the white space before it if the template trims content.
/// Error: invalid_argument (the sentinel is not in the prompt).
Result<std::string> cut_at_mark(std::string prompt, const std::string& mark);

} // namespace etna::chat
