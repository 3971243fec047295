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
enum class Kind : uint8_t { schema, object, regex, choices, grammar };

struct Member {
    std::string_view name;
    Kind kind;
};

constexpr std::array<Member, 5> of_structured_outputs = {{{"json", Kind::schema},
                                                          {"json_object", Kind::object},
                                                          {"regex", Kind::regex},
                                                          {"choice", Kind::choices},
                                                          {"grammar", Kind::grammar}}};
/// vLLM's earlier names, and llama.cpp's.
constexpr std::array<Member, 7> of_root = {{{"guided_json", Kind::schema},
                                            {"guided_json_object", Kind::object},
                                            {"guided_regex", Kind::regex},
                                            {"guided_choice", Kind::choices},
                                            {"guided_grammar", Kind::grammar},
                                            {"json_schema", Kind::schema},
                                            {"grammar", Kind::grammar}}};

/// Reads a schema: an object, true or false, or a string that contains one.
void read_schema(Fields& fields, std::string_view name, Description& description) {
    const Json* const schema = fields.any(name);
    description.notation = Notation::json_schema;
    description.place = fields.path_of(name);
    description.text = schema->is_string() ? schema->get<std::string>() : text_of(*schema);
}

void read_choices(Fields& fields, std::string_view name, Description& description) {
    description.notation = Notation::choices;
    description.choices = fields.texts(name, choices_max).value_or(std::vector<std::string>());
    if (description.choices.empty())
        fields.refuse(name, "must be a list of texts, one at least");
}

/// Reads one field; empty if absent or without a constraint.
std::optional<Description> read_member(Fields& fields, const Member& member) {
    if (fields.any(member.name) == nullptr)
        return std::nullopt;
    Description description = {.place = fields.path_of(member.name)};
    switch (member.kind) {
    case Kind::schema:
        read_schema(fields, member.name, description);
        break;
    case Kind::object:
        description.text = any_object;
        if (!fields.flag(member.name).value_or(false))
            return std::nullopt;
        break;
    case Kind::choices:
        read_choices(fields, member.name, description);
        break;
    case Kind::regex:
    case Kind::grammar:
        description.notation = member.kind == Kind::regex ? Notation::regex : Notation::gbnf;
        description.text = fields.text(member.name).value_or("");
        break;
    }
    return description;
}

/// Uses the first constraint; several are an error.
void read_members(Fields& fields, std::span<const Member> members, generate::Request& request) {
    for (const Member& member : members) {
        auto description = read_member(fields, member);
        if (description && request.grammar)
            return fields.refuse(member.name, "comes beside another format of the answer; say one");
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
    Fields within(*object, "structured_outputs");
    const bool result = within.flag("disable_any_whitespace").value_or(false);
    if (within.problem())
        fields.adopt(*within.problem());
    return result;
}

void read_structured_outputs(Fields& fields, generate::Request& request) {
    const Json* const object = fields.object("structured_outputs");
    if (object == nullptr)
        return;
    Fields within(*object, "structured_outputs");
    read_members(within, of_structured_outputs, request);
    within.accept({"disable_any_whitespace"}); // is_compact()
    refuse_unsupported(within, {"structural_tag", "whitespace_pattern", "disable_additional_properties"});
    within.accept({"disable_fallback"});
    if (within.problem()) {
        fields.adopt(*within.problem());
    } else {
        fields.adopt_unknown(within.unknown());
    }
}

bool is_lenient(Fields& fields) {
    const Json* const object = fields.object("etna");
    if (object == nullptr)
        return false;
    Fields within(*object, "etna");
    const auto schema = within.choice("schema", {"strict", "lenient"});
    if (within.problem()) {
        fields.adopt(*within.problem());
    } else {
        fields.adopt_unknown(within.unknown());
    }
    return schema == 1U;
}

/// OpenAI's `response_format.json_schema`.
void read_json_schema(Fields& format, Description& description) {
    format.require("json_schema");
    const Json* const given = format.object("json_schema");
    if (given == nullptr)
        return;
    Fields within(*given, "response_format.json_schema");
    within.require("schema");
    within.accept({"name", "description", "strict"}); // always enforced
    if (within.any("schema") != nullptr)
        read_schema(within, "schema", description);
    if (within.problem())
        format.adopt(*within.problem());
    format.adopt_unknown(within.unknown());
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
    read_members(fields, of_root, request);
    refuse_unsupported(fields, {"guided_whitespace_pattern", "grammar_lazy"});
    fields.accept({"guided_decoding_backend"}); // there is only one backend
    const bool may_leave_out = is_lenient(fields);
    request.has_lenient_tools = may_leave_out;
    const bool has_no_space = is_compact(fields);
    if (request.grammar) {
        request.grammar->is_compact = has_no_space;
        request.grammar->is_lenient = may_leave_out;
    }
}

std::optional<std::string> schema_member(const Error& error) {
    const std::string place = error.message.substr(0, error.message.find(": "));
    constexpr std::array<std::string_view, 3> above = {"tools[", "response_format.", "structured_outputs."};
    const bool is_within = std::any_of(above.begin(), above.end(), [&](std::string_view member) {
        return place.starts_with(member) && place.find(' ') == std::string::npos;
    });
    const bool is_root = std::any_of(of_root.begin(), of_root.end(),
                                     [&](const Member& member) { return place == member.name; });
    return is_within || is_root ? std::optional(place) : std::nullopt;
}

bool read_response_format(Fields& fields, generate::Request& request) {
    const Json* const object = fields.object("response_format");
    if (object == nullptr)
        return false;
    Fields format(*object, "response_format");
    format.require("type");
    const auto type = format.choice("type", {"text", "json_object", "json_schema"});
    const bool is_kept = type.value_or(0) != 0U;
    Description description = {.text = std::string(any_object),
                               .is_lenient = request.has_lenient_tools,
                               .is_compact = is_compact(fields)};
    bool has_schema = false;
    if (type == 1U)
        has_schema = read_schema_of_object(format, description);
    if (type == 2U)
        read_json_schema(format, description);
    if (is_kept && request.grammar)
        format.refuse("type", "comes beside another format of the answer; say one");
    fields.adopt_unknown(format.unknown());
    if (format.problem())
        fields.adopt(*format.problem());
    if (!is_kept || format.problem())
        return false;
    request.grammar = std::move(description);
    return type == 1U && !has_schema;
}

} // namespace etna::server::openai
