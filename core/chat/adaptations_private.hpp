#pragma once

#include "core/base/json.hpp"
#include "core/chat/chat_template.hpp"
#include "core/chat/request_private.hpp"

// Private to core/chat: the steps of render_adapted(). All but the first and the last expect messages whose
// content is a string.
namespace etna::chat {

/// Converts content to a string and the role `developer` to `system`; removes `tools` and `documents` that
/// are null. Error: invalid_argument (a content part that is not text).
Status normalise(Json& request);

/// Moves the tools into the system message, with instructions for calling them in Hermes syntax.
void tell_tools(Json& request);

/// Converts past calls and results to text in assistant and user turns, in Hermes syntax.
void tell_calls(Json& messages);

/// Prepends the first message, which is a system message, to the first user message.
void merge_system(Json& messages);

// Fallbacks for a template that refuses a conversation. Each returns whether it changed anything.

/// Merges adjacent messages of one role, separated by a blank line; not tool messages or messages with calls.
bool join_neighbours(Json& request);
/// Merges all system messages into one, at the start.
bool gather_systems(Json& request);
/// Replaces call ids by nine letters and digits, as Mistral templates require.
bool shorten_ids(Json& request);
/// Splits a message with several calls into one message per call, each followed by its result.
bool split_calls(Json& request);
/// Adds a placeholder result to each call without one, placeholder content to an assistant message that has
/// neither content nor calls, and a placeholder answer between tool results and the next user message.
bool complete_turns(Json& request);
/// Removes the reasoning of assistant messages that have both calls and content.
bool drop_reasoning(Json& request);
/// Adds empty descriptions and parameters to tools, and descriptions to their properties, if missing.
bool complete_tools(Json& request);

/// Converts content, arguments and reasoning to the forms that the template expects.
void change_forms(const TemplateHabits& habits, Json& messages);

} // namespace etna::chat
