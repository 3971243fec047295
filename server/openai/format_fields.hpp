#pragma once

#include "core/generate/generate.hpp"
#include "server/fields.hpp"

#include <optional>
#include <string>

namespace etna::server::openai {

/// What the answer is kept to, by vLLM's names: `structured_outputs` with one of `json`, `json_object`,
/// `regex`, `choice`, `grammar`, or `guided_json`, `guided_regex`, `guided_choice`, `guided_grammar` of its
/// earlier versions; and by llama.cpp's, `json_schema` and `grammar`. Grammars are written in GBNF, or Lark.
/// `etna.schema`: "lenient" leaves out keywords that cannot be enforced, of this schema and those of tools.
/// Mistakes are left in `fields`.
void read_structure(Fields& fields, generate::Request& request);

/// OpenAI's `response_format`, where `json_object` may have a `schema`, as llama.cpp has it. Gives whether
/// any object in JSON is wanted, which the model is to be told. Mistakes are left in `fields`. Precondition:
/// read_structure() has read the request's. Source: OpenAI API 2.3.0.
bool read_response_format(Fields& fields, generate::Request& request);

/// The member that holds the schema, grammar or expression which the error is about; none where it is about
/// something else.
std::optional<std::string> schema_member(const Error& error);

} // namespace etna::server::openai
