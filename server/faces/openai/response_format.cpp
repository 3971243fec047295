#include "server/faces/openai/response_format.hpp"

#include "server/api/structured_output.hpp"

#include <utility>

namespace etna::server::openai {
namespace {

using grammar::Description;

/// OpenAI's `response_format.json_schema`.
void read_json_schema(Fields& format, Description& description) {
    format.require("json_schema");
    const Json* const given = format.object("json_schema");
    if (given == nullptr)
        return;
    Fields nested(*given, "response_format.json_schema");
    nested.require("schema");
    nested.accept({"name", "description", "strict"}); // always enforced
    if (nested.any("schema") != nullptr)
        api::read_schema(nested, "schema", description);
    format.adopt(nested);
}

/// Reads llama.cpp's schema of a `json_object`. Returns whether there is one: an empty schema adds nothing to
/// the type.
bool read_schema_of_object(Fields& format, Description& description) {
    const Json* const schema = format.object("schema");
    if (schema == nullptr || schema->empty())
        return false;
    api::read_schema(format, "schema", description);
    return true;
}

} // namespace

bool read_response_format(Fields& fields, generate::Request& request) {
    const Json* const object = fields.object("response_format");
    if (object == nullptr)
        return false;
    Fields format(*object, "response_format");
    format.require("type");
    const auto type = format.choice("type", {"text", "json_object", "json_schema"});
    const bool is_constrained = type.value_or(0) != 0U;
    Description description = api::json_object_description(request);
    bool has_schema = false;
    if (type == 1U)
        has_schema = read_schema_of_object(format, description);
    if (type == 2U)
        read_json_schema(format, description);
    if (is_constrained && request.grammar)
        format.refuse("type", "cannot be combined with another output format");
    fields.adopt(format);
    if (!is_constrained || format.problem())
        return false;
    request.grammar = std::move(description);
    return type == 1U && !has_schema;
}

} // namespace etna::server::openai
