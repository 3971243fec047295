#pragma once

#include "server/fields.hpp"

#include <string>

namespace etna::server::openai {

/// Validates the structure of `messages`, so that errors have a path: roles, contents and their parts, tool
/// calls. Their text is left to the template. Errors are recorded in `fields`.
void check_messages(Fields& fields, const Json& messages);

/// Returns the text of a message's content, with its parts concatenated. Precondition: check_messages().
std::string text_of_content(const Json& message);

} // namespace etna::server::openai
