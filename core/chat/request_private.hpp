#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <array>
#include <string>
#include <string_view>

// Private to the room: a chat request while it is changed.
namespace etna::chat {

constexpr int request_nesting_max = 200;

/// A request whose `messages` is a list of objects with a text `role`, and whose `tools` is a list, null or
/// absent. Errors: invalid_argument, naming the member.
Result<Json> parse_request(std::string_view json);

/// Where a message of the assistant may have what it thought.
inline constexpr std::array reasoning_keys = {"reasoning_content", "reasoning", "thinking"};

/// JSON text; what is no UTF-8 in it is replaced by U+FFFD.
std::string text_of(const Json& json);

/// Whether a message has this role.
bool has_role(const Json& message, std::string_view role);

/// The text of a message's `content`: a string, or the text parts of a list, one to a line; empty for null.
/// Error: invalid_argument (a part that is no text, by its type).
Result<std::string> content_text(const Json& message);

} // namespace etna::chat
