#pragma once

#include "server/api/file_texts.hpp"
#include "server/base/fields.hpp"

#include <optional>
#include <string>

namespace etna::server::openai {

/// Returns `messages` with the text of each file in a content part in its place; empty if there is none.
/// Errors are recorded in `fields`.
std::optional<Json> with_file_texts(Fields& fields, const Json& messages, const api::FileTexts& files);

/// Validates the structure of `messages`, so that errors have a path: roles, contents and their parts, tool
/// calls. Their text is left to the template. Errors are recorded in `fields`.
void check_messages(Fields& fields, const Json& messages);

/// Returns the text of a message's content, with its parts of text concatenated. Precondition:
/// check_messages(), of these messages or of those with the texts of files.
std::string text_of_content(const Json& message);

} // namespace etna::server::openai
