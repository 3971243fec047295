#pragma once

#include "core/generate/generation.hpp"
#include "server/base/fields.hpp"

#include <string_view>

namespace etna::server::api {

/// Reads the structured-output constraint. vLLM's fields: `structured_outputs` with one of `json`,
/// `json_object`, `regex`, `choice`, `grammar`, or `guided_json`, `guided_regex`, `guided_choice`,
/// `guided_grammar` of its earlier versions; llama.cpp's: `json_schema` and `grammar`. Grammars are GBNF or
/// Lark. `etna.schema`: "lenient" drops unenforceable keywords of this schema and of tool schemas;
/// `etna.json_whitespace` is that of both. Errors are recorded in `fields`.
void read_structure(Fields& fields, generate::Request& request);

/// Returns a constraint to any JSON object, with the options that read_structure() has read.
grammar::Description json_object_description(const generate::Request& request);

/// Reads a schema from a member of `fields`: an object, true or false, or a string that contains one.
void read_schema(Fields& fields, std::string_view name, grammar::Description& description);

/// The instruction for a model whose answer must be any JSON object.
inline constexpr std::string_view json_instruction = "Answer with one JSON object and nothing else.";

/// Adds an instruction to the system message, or as one.
void add_instruction(chat::Conversation& conversation, std::string_view text);

} // namespace etna::server::api
