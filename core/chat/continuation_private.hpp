#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <string>

// Private to the room: `continue_final_message`, where a prompt ends in the middle of the last message.
namespace etna::chat {

/// Whether the request wants its last message gone on with.
bool continues_final_message(const Json& request);

/// Puts a mark behind the text of the last message, and asks for no new turn. Gives the mark, which nothing
/// else in the request has. Errors: invalid_argument (the last message is no assistant's or has no text, or a
/// new turn is asked for as well).
Result<std::string> mark_final_message(Json& request);

/// The prompt up to the mark; without the white space before it where the template trims what it writes.
/// Error: invalid_argument (the mark is not in the prompt).
Result<std::string> cut_at_mark(std::string prompt, const std::string& mark);

} // namespace etna::chat
