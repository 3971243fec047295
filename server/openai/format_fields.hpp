#pragma once

#include "core/generate/generation.hpp"
#include "server/fields.hpp"

#include <optional>
#include <string>

namespace etna::server::openai {

/// Reads the structured-output constraint. vLLM's fields: `structured_outputs` with one of `json`,
/// `json_object`, `regex`, `choice`, `grammar`, or `guided_json`, `guided_regex`, `guided_choice`,
/// `guided_grammar` of its earlier versions; llama.cpp's: `json_schema` and `grammar`. Grammars are GBNF or
/// Lark. `etna.schema`: "lenient" drops unenforceable keywords of this schema and of tool schemas. Errors are
/// recorded in `fields`.
void read_structure(Fields& fields, generate::Request& request);

/// Reads OpenAI's `response_format`; `json_object` may have a `schema`, as in llama.cpp. Returns whether any
/// JSON object is requested, which the model must be prompted for. Errors are recorded in `fields`.
/// Precondition: read_structure() was called. Source: OpenAI API 2.3.0.
bool read_response_format(Fields& fields, generate::Request& request);

/// Returns the field of the schema, grammar or expression that the error is about; empty for any other error.
std::optional<std::string> schema_member(const Error& error);

} // namespace etna::server::openai
