#pragma once

#include "server/fields.hpp"
#include "server/json.hpp"
#include "server/responses/tool_names.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// Items: what the Responses API has instead of messages. Source: OpenAI API 2.3.0, InputItem and OutputItem.
namespace etna::server::responses {

/// Reads a list of items, or a text that stands for one message of the user's. Each gets what it lacks: an
/// id, a type, a status; a message's text becomes parts. `name`: the member they stand in. A mistake is left
/// in `fields`, with the item's place.
Json read_items(Fields& fields, std::string_view name);

/// Gives an item another id.
void rename(Json& item);

/// The items as messages of a chat completion. Calls of the assistant's stand in one message with the text
/// before them, and reasoning goes to the message that it led to; whether a template shows it is the
/// template's matter. Items that refer to others, and those that are sealed, have to be replaced by what they
/// stand for before. `names`: of the tools that are called. Precondition: items as read_items() gives them,
/// or as output has them.
Json messages_of(const Json& items, const ToolNames& names);

/// The first result that stands behind no call of its kind and id; empty where there is none. Precondition:
/// as messages_of().
std::optional<std::size_t> result_without_call(const Json& items);
/// Error 400 for it. `member`: where it stands.
ApiError no_call_before(const Json& result, std::string_view member);

/// How many of the oldest items may be left out for want of room: not the last, and not the calls whose
/// results are the last. Precondition: as messages_of().
std::size_t droppable(const Json& items);

/// What a tool was called with, as JSON arguments of a function: custom tools have one member, `input`.
std::string custom_arguments(std::string_view input);

/// The way back; empty where the arguments are no such.
std::optional<std::string> custom_input(std::string_view arguments);

} // namespace etna::server::responses
