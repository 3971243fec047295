#pragma once

#include "core/generate/generate.hpp"
#include "server/fields.hpp"

#include <optional>
#include <string>

namespace etna::server::openai {

/// What the answer is kept to, by vLLM's names: `structured_outputs` with one of `json`, `json_object`,
/// `regex`, `choice`, `grammar`, or `guided_json`, `guided_regex`, `guided_choice`, `guided_grammar` of its
/// earlier versions. Grammars are written in GBNF. `etna.schema`: "lenient" leaves out keywords that cannot
/// be enforced, of this schema and those of tools. Mistakes are left in `fields`.
void read_structure(Fields& fields, generate::Request& request);

/// OpenAI's `response_format`. Gives whether an object in JSON is wanted, which the model is to be told.
/// Mistakes are left in `fields`. Source: OpenAI API 2.3.0.
bool read_response_format(Fields& fields, generate::Request& request);

/// The member that holds the schema which the error is about; none where it is about something else.
std::optional<std::string> schema_member(const Error& error);

} // namespace etna::server::openai
