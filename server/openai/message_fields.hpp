#pragma once

#include "server/fields.hpp"

#include <string_view>

namespace etna::server::openai {

/// Looks through `messages`, so that a mistake is told with its place: roles, contents and their parts, tool
/// calls; what stands in them is the template's matter. Mistakes are left in `fields`.
void check_messages(Fields& fields, const Json& messages);

/// The text of a message's content, its parts one after the other. Precondition: checked.
std::string text_of_content(const Json& message);

/// Refuses a content part at `place` whose `type` is not text: by its medium, if that is known.
void refuse_part(Fields& fields, std::string_view place, const Json& part);

} // namespace etna::server::openai
