#pragma once

#include "core/base/json.hpp"
#include "core/chat/chat_template.hpp"
#include "core/chat/request_private.hpp"

// Private to the room: the single steps of render_adapted(). All but the first and the last work on messages
// whose content is a string.
namespace etna::chat {

/// Content becomes a string; `developer` the system; `tools` and `documents` that are null go. Error:
/// invalid_argument (a part that is no text).
Status normalise(Json& request);

/// Says in the system message which tools there are and how to call them, in Hermes' syntax.
void tell_tools(Json& request);

/// Past calls and results become text of the assistant's and the user's turns, in Hermes' syntax.
void tell_calls(Json& messages);

/// The first message, a system's, goes before the user's first message.
void merge_system(Json& messages);

// Remedies for a template that refuses. Each returns whether it changed anything.

/// Neighbours of one role become one message, with a blank line between, unless they call tools.
bool join_neighbours(Json& request);
/// System messages after the first are appended to it.
bool gather_systems(Json& request);
/// Ids of calls become nine letters and digits, as Mistral's templates want them.
bool shorten_ids(Json& request);
/// A message with several calls becomes one for each, followed by its result.
bool split_calls(Json& request);
/// A call without a result gets one that says so; so does an assistant's message without content, and one is
/// put in where the user goes on after results.
bool complete_turns(Json& request);
/// An assistant's message that has calls loses its reasoning where it has content too.
bool drop_reasoning(Json& request);
/// Tools without a description or parameters get empty ones.
bool complete_tools(Json& request);

/// Content, arguments and reasoning as the template wants them.
void change_forms(const TemplateHabits& habits, Json& messages);

} // namespace etna::chat
