#pragma once

#include "core/chat/conversation.hpp"
#include "server/api/reasoning_effort.hpp"
#include "server/base/fields.hpp"

#include <optional>
#include <string_view>

namespace etna::server::api {

/// Empty if absent, or another word: that is without effect. Errors are recorded in `fields`.
std::optional<ReasoningEffort> read_effort(Fields& fields, std::string_view name);

/// Reads the template arguments other than messages and tools: `documents`, `chat_template_kwargs`,
/// `continue_final_message`, `add_generation_prompt`, and `parse_special`. The effort becomes an argument,
/// and sets Conversation::thinking. Errors are recorded in `fields`.
void read_template_arguments(Fields& fields, std::optional<ReasoningEffort> effort,
                             chat::Conversation& conversation);

/// Adds the members of an object, see Conversation::template_arguments.
void add_template_arguments(const Json& arguments, chat::Conversation& conversation);

/// Checks `continue_final_message`: the last message is the start of the answer. Precondition: the messages
/// and the tool choice have been read.
void check_continuation(Fields& fields, const chat::Conversation& conversation);

} // namespace etna::server::api
