#include "server/openai/format_fields.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

using grammar::Description;
using grammar::Notation;

constexpr std::string_view any_object = R"({"type": "object"})";
constexpr std::size_t choices_max = 10'000;

/// The kind of constraint in a field.
enum class ConstraintKind : uint8_t { schema, object, regex, choices, grammar };

struct ConstraintField {
    std::string_view name;
    ConstraintKind kind;
};

constexpr std::array<ConstraintField, 5> structured_output_fields = {{{"json", ConstraintKind::schema},
                                                                      {"json_object", ConstraintKind::object},
                                                                      {"regex", ConstraintKind::regex},
                                                                      {"choice", ConstraintKind::choices},
                                                                      {"grammar", ConstraintKind::grammar}}};
/// vLLM's earlier names, and llama.cpp's.
constexpr std::array<ConstraintField, 7> root_fields = {{{"guided_json", ConstraintKind::schema},
                                                         {"guided_json_object", ConstraintKind::object},
                                                         {"guided_regex", ConstraintKind::regex},
                                                         {"guided_choice", ConstraintKind::choices},
                                                         {"guided_grammar", ConstraintKind::grammar},
                                                         {"json_schema", ConstraintKind::schema},
                                                         {"grammar", ConstraintKind::grammar}}};

/// Reads a schema: an object, true or false, or a string that contains one.
void read_schema(Fields& fields, std::string_view name, Description& description) {
    const Json* const schema = fields.any(name);
    description.notation = Notation::json_schema;
    description.place = fields.path_of(name);
    description.text = schema->is_string() ? schema->get<std::string>() : dump_json(*schema);
}

void read_choices(Fields& fields, std::string_view name, Description& description) {
    description.notation = Notation::choices;
    description.choices = fields.texts(name, choices_max).value_or(std::vector<std::string>());
    if (description.choices.empty())
        fields.refuse(name, "must be a non-empty list of strings");
}

/// Reads one field; empty if absent or without a constraint.
std::optional<Description> read_constraint(Fields& fields, const ConstraintField& field) {
    if (fields.any(field.name) == nullptr)
        return std::nullopt;
    Description description = {.place = fields.path_of(field.name)};
    switch (field.kind) {
    case ConstraintKind::schema:
        read_schema(fields, field.name, description);
        break;
    case ConstraintKind::object:
        description.text = any_object;
        if (!fields.flag(field.name).value_or(false))
            return std::nullopt;
        break;
    case ConstraintKind::choices:
        read_choices(fields, field.name, description);
        break;
    case ConstraintKind::regex:
    case ConstraintKind::grammar:
        description.notation = field.kind == ConstraintKind::regex ? Notation::regex : Notation::gbnf;
        description.text = fields.text(field.name).value_or("");
        break;
    }
    return description;
}

/// Uses the first constraint; several are an error.
void read_constraints(Fields& fields, std::span<const ConstraintField> all, generate::Request& request) {
    for (const ConstraintField& field : all) {
        auto description = read_constraint(fields, field);
        if (description && request.grammar)
            return fields.refuse(field.name, "cannot be combined with another output format");
        if (description)
            request.grammar = std::move(description);
    }
}

void refuse_unsupported(Fields& fields, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        const Json* const value = fields.any(name);
        if (value != nullptr && *value != false)
            fields.refuse(name, "is not supported", "unsupported_parameter");
    }
}

/// Whether the JSON must have no white space, for a schema in any field.
bool is_compact(Fields& fields) {
    const Json* const object = fields.object("structured_outputs");
    if (object == nullptr)
        return false;
    Fields nested(*object, "structured_outputs");
    const bool result = nested.flag("disable_any_whitespace").value_or(false);
    if (nested.problem())
        fields.adopt(*nested.problem());
    return result;
}

void read_structured_outputs(Fields& fields, generate::Request& request) {
    const Json* const object = fields.object("structured_outputs");
    if (object == nullptr)
        return;
    Fields nested(*object, "structured_outputs");
    read_constraints(nested, structured_output_fields, request);
    nested.accept({"disable_any_whitespace"}); // is_compact()
    refuse_unsupported(nested, {"structural_tag", "whitespace_pattern", "disable_additional_properties"});
    nested.accept({"disable_fallback"});
    fields.adopt(nested);
}

bool is_lenient(Fields& fields) {
    const Json* const object = fields.object("etna");
    if (object == nullptr)
        return false;
    Fields nested(*object, "etna");
    const auto schema = nested.choice("schema", {"strict", "lenient"});
    fields.adopt(nested);
    return schema == 1U;
}

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
        read_schema(nested, "schema", description);
    format.adopt(nested);
}

/// Reads llama.cpp's schema of a `json_object`. Returns whether there is one: an empty schema adds nothing to
/// the type.
bool read_schema_of_object(Fields& format, Description& description) {
    const Json* const schema = format.object("schema");
    if (schema == nullptr || schema->empty())
        return false;
    read_schema(format, "schema", description);
    return true;
}

} // namespace

void read_structure(Fields& fields, generate::Request& request) {
    read_structured_outputs(fields, request);
    read_constraints(fields, root_fields, request);
    refuse_unsupported(fields, {"guided_whitespace_pattern", "grammar_lazy"});
    fields.accept({"guided_decoding_backend"}); // there is only one backend
    const bool lenient = is_lenient(fields);
    request.has_lenient_tools = lenient;
    const bool compact = is_compact(fields);
    if (request.grammar) {
        request.grammar->is_compact = compact;
        request.grammar->is_lenient = lenient;
    }
}

std::optional<std::string> schema_member(const Error& error) {
    const std::string path = error.message.substr(0, error.message.find(": "));
    constexpr std::array<std::string_view, 3> parents = {"tools[", "response_format.", "structured_outputs."};
    const bool is_nested = std::any_of(parents.begin(), parents.end(), [&](std::string_view parent) {
        return path.starts_with(parent) && path.find(' ') == std::string::npos;
    });
    const bool is_root = std::any_of(root_fields.begin(), root_fields.end(),
                                     [&](const ConstraintField& field) { return path == field.name; });
    return is_nested || is_root ? std::optional(path) : std::nullopt;
}

bool read_response_format(Fields& fields, generate::Request& request) {
    const Json* const object = fields.object("response_format");
    if (object == nullptr)
        return false;
    Fields format(*object, "response_format");
    format.require("type");
    const auto type = format.choice("type", {"text", "json_object", "json_schema"});
    const bool is_constrained = type.value_or(0) != 0U;
    Description description = {.text = std::string(any_object),
                               .is_lenient = request.has_lenient_tools,
                               .is_compact = is_compact(fields)};
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
