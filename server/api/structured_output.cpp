#include "server/api/structured_output.hpp"

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

namespace etna::server::api {
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

void read_structured_outputs(Fields& fields, generate::Request& request) {
    const Json* const object = fields.object("structured_outputs");
    if (object == nullptr)
        return;
    Fields nested(*object, "structured_outputs");
    read_constraints(nested, structured_output_fields, request);
    if (nested.flag("disable_any_whitespace").value_or(false)) // for a schema in any field
        request.json_spacing = grammar::JsonSpacing::none;
    refuse_unsupported(nested, {"structural_tag", "whitespace_pattern", "disable_additional_properties"});
    nested.accept({"disable_fallback"});
    fields.adopt(nested);
}

/// Reads etna's own members.
void read_etna(Fields& fields, generate::Request& request) {
    const Json* const object = fields.object("etna");
    if (object == nullptr)
        return;
    Fields nested(*object, "etna");
    request.has_lenient_tools = nested.choice("schema", {"strict", "lenient"}) == 1U;
    constexpr auto& names = grammar::json_spacings;
    if (const auto spacing = nested.choice("json_whitespace", {names.begin(), names.end()}))
        request.json_spacing = static_cast<grammar::JsonSpacing>(*spacing);
    fields.adopt(nested);
}

} // namespace

void read_schema(Fields& fields, std::string_view name, Description& description) {
    const Json* const schema = fields.any(name);
    description.notation = Notation::json_schema;
    description.place = fields.path_of(name);
    description.text = schema->is_string() ? schema->get<std::string>() : dump_json(*schema);
}

void read_structure(Fields& fields, generate::Request& request) {
    read_structured_outputs(fields, request);
    read_constraints(fields, root_fields, request);
    refuse_unsupported(fields, {"guided_whitespace_pattern", "grammar_lazy"});
    fields.accept({"guided_decoding_backend"}); // there is only one backend
    read_etna(fields, request);
    if (request.grammar)
        request.grammar->is_lenient = request.has_lenient_tools;
}

grammar::Description json_object_description(const generate::Request& request) {
    return {.text = std::string(any_object), .is_lenient = request.has_lenient_tools};
}

void add_instruction(chat::Conversation& conversation, std::string_view text) {
    std::vector<chat::Message>& messages = conversation.messages;
    if (!messages.empty() && messages.front().role == chat::Role::system) {
        messages.front().content += "\n\n" + std::string(text);
    } else {
        messages.insert(messages.begin(), {.role = chat::Role::system, .content = std::string(text)});
    }
}

} // namespace etna::server::api
