#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <array>
#include <string>
#include <string_view>

// Internal to core/chat: chat requests as mutable JSON.
namespace etna::chat {

constexpr int request_nesting_max = 200;

/// Parses and checks a request: `messages` is a list of objects with a string `role`, `tools` is a list, null
/// or absent. Errors: invalid_argument, naming the member.
Result<Json> parse_request(std::string_view json);

/// Members of an assistant message that may hold its reasoning.
inline constexpr std::array reasoning_keys = {"reasoning_content", "reasoning", "thinking"};

bool has_role(const Json& message, std::string_view role);

/// Returns the text of a message's `content`: a string, or the text parts of a list, one per line; empty for
/// null. Error: invalid_argument (a part that is not text; the error names its type).
Result<std::string> content_text(const Json& message);

/// Whether the request asks for its last message to be continued (`continue_final_message`).
bool continues_final_message(const Json& request);

/// Appends a sentinel to the text of the last message and turns `add_generation_prompt` off. Returns the
/// sentinel, which occurs nowhere else in the request. Errors: invalid_argument (the last message is not from
/// the assistant or has no text, or the request also sets `add_generation_prompt`).
Result<std::string> append_sentinel(Json& request);

/// Returns the prompt up to the sentinel, without the white space before it if the template trims content.
/// Error: invalid_argument (the sentinel is not in the prompt).
Result<std::string> cut_at_sentinel(std::string prompt, const std::string& sentinel);

} // namespace etna::chat
