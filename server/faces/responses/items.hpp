#pragma once

#include "core/chat/conversation.hpp"
#include "server/api/file_texts.hpp"
#include "server/base/fields.hpp"
#include "server/base/json.hpp"
#include "server/faces/responses/tools.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Items: the Responses API's counterpart of messages. Source: OpenAI API 2.3.0, InputItem and OutputItem.
namespace etna::server::responses {

/// Reads a list of items, or a string as one user message. Fills in missing ids, types and
/// statuses; a message's text becomes parts, as does that of the files that `files` can read. `name`: the
/// field that contains them. Errors are recorded in `fields`, with the item's path.
Json read_items(Fields& fields, std::string_view name, const api::FileTexts& files = {});

/// Assigns an item a new id.
void assign_new_id(Json& item);

/// Converts items to messages. Assistant calls join the message of the text before them, and reasoning joins
/// the message that it led to; the template decides whether to render it. References and sealed items must be
/// resolved first. `names`: those of the called tools. Precondition: items as returned by read_items(), or as
/// in an output.
std::vector<chat::Message> messages_of(const Json& items, const ToolNames& names);

/// Returns whether an item is a call that was cut off, which no prompt has as a call.
bool is_cut_call(const Json& item);

/// Returns the index of the first result without a preceding call of its kind and id, if any.
/// Precondition: as messages_of().
std::optional<std::size_t> result_without_call(const Json& items);
/// Returns the 400 error for such a result. `member`: its path.
ApiError missing_call_error(const Json& result, std::string_view member);

/// Returns the number of oldest items that truncation may remove: not the last, and not the calls whose
/// results are the last. Precondition: as messages_of().
std::size_t removable_items(const Json& items);

} // namespace etna::server::responses
