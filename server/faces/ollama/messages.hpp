#pragma once

#include "core/chat/conversation.hpp"
#include "server/api/tools.hpp"
#include "server/base/fields.hpp"

#include <vector>

namespace etna::server::ollama {

/// Reads `messages`. A result without an id answers the first open call of its `tool_name`, else the first
/// open call. Errors are recorded in `fields`. Source: Ollama, docs/api.md.
std::vector<chat::Message> read_messages(Fields& fields);

/// Reads `tools`. Errors are recorded in `fields`.
std::vector<api::Tool> read_tools(Fields& fields);

/// Refuses images: `images` of `fields`, unless it is empty.
void refuse_images(Fields& fields);

} // namespace etna::server::ollama
