#include "server/openai/format_fields.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

using grammar::Description;
using grammar::Notation;

constexpr std::string_view any_object = R"({"type": "object"})";
constexpr std::size_t choices_max = 10'000;

/// A schema as an object, true or false, or as a text that holds one.
void read_schema(Fields& fields, std::string_view name, Description& description) {
    const Json* const schema = fields.any(name);
    description.notation = Notation::json_schema;
    description.place = fields.path_of(name);
    description.text = schema->is_string() ? schema->get<std::string>() : text_of(*schema);
}

/// Reads the one member that says what is wanted; `prefix` stands before the names.
bool read_one(Fields& fields, const std::string& prefix, std::string_view what, Description& description) {
    const std::string name = prefix + std::string(what);
    if (fields.any(name) == nullptr)
        return false;
    if (what == "json") {
        read_schema(fields, name, description);
    } else if (what == "json_object") {
        description.text = any_object;
        return fields.flag(name).value_or(false);
    } else if (what == "choice") {
        description.notation = Notation::choices;
        description.choices = fields.texts(name, choices_max).value_or(std::vector<std::string>());
        if (description.choices.empty())
            fields.refuse(name, "must be a list of texts, one at least");
    } else {
        description.notation = what == "regex" ? Notation::regex : Notation::gbnf;
        description.text = fields.text(name).value_or("");
    }
    return true;
}

/// Of several that are named, which is an error, the first.
void read_kinds(Fields& fields, const std::string& prefix, generate::Request& request) {
    for (const std::string_view what : {"json", "json_object", "regex", "choice", "grammar"}) {
        Description description;
        if (!read_one(fields, prefix, what, description))
            continue;
        if (request.grammar) {
            fields.refuse(prefix + std::string(what), "comes beside another format of the answer; say one");
            return;
        }
        request.grammar = std::move(description);
    }
}

void read_structured_outputs(Fields& fields, generate::Request& request) {
    const Json* const object = fields.object("structured_outputs");
    if (object == nullptr)
        return;
    Fields within(*object, "structured_outputs");
    read_kinds(within, "", request);
    const bool is_compact = within.flag("disable_any_whitespace").value_or(false);
    if (request.grammar)
        request.grammar->is_compact = is_compact;
    for (const std::string_view name :
         {"structural_tag", "whitespace_pattern", "disable_additional_properties"}) {
        const Json* const value = within.any(name);
        if (value != nullptr && *value != false)
            within.refuse(name, "is not supported", "unsupported_parameter");
    }
    within.accept({"disable_fallback"});
    if (within.problem())
        fields.adopt(*within.problem());
    else
        fields.adopt_unknown(within.unknown());
}

bool is_lenient(Fields& fields) {
    const Json* const object = fields.object("etna");
    if (object == nullptr)
        return false;
    Fields within(*object, "etna");
    const auto schema = within.choice("schema", {"strict", "lenient"});
    if (within.problem())
        fields.adopt(*within.problem());
    else
        fields.adopt_unknown(within.unknown());
    return schema == 1U;
}

} // namespace

void read_structure(Fields& fields, generate::Request& request) {
    read_structured_outputs(fields, request);
    read_kinds(fields, "guided_", request);
    if (fields.any("guided_whitespace_pattern") != nullptr)
        fields.refuse("guided_whitespace_pattern", "is not supported", "unsupported_parameter");
    fields.accept({"guided_decoding_backend"}); // there is one
    const bool may_leave_out = is_lenient(fields);
    request.has_lenient_tools = may_leave_out;
    if (request.grammar)
        request.grammar->is_lenient = may_leave_out;
}

std::optional<std::string> schema_member(const Error& error) {
    const std::string place = error.message.substr(0, error.message.find(": "));
    constexpr std::array<std::string_view, 4> members = {"tools[", "response_format.", "structured_outputs.",
                                                         "guided_"};
    const bool is_schema = std::any_of(members.begin(), members.end(), [&](std::string_view member) {
        return place.starts_with(member) && place.find(' ') == std::string::npos;
    });
    return is_schema ? std::optional(place) : std::nullopt;
}

bool read_response_format(Fields& fields, generate::Request& request) {
    const Json* const object = fields.object("response_format");
    if (object == nullptr)
        return false;
    Fields format(*object, "response_format");
    format.require("type");
    const auto type = format.choice("type", {"text", "json_object", "json_schema"});
    Description description = {.text = std::string(any_object)};
    if (type == 2U) {
        format.require("json_schema");
        if (const Json* const given = format.object("json_schema")) {
            Fields within(*given, "response_format.json_schema");
            within.require("schema");
            within.accept({"name", "description", "strict"}); // the answer is kept to it in any case
            if (within.any("schema") != nullptr)
                read_schema(within, "schema", description);
            if (within.problem())
                format.adopt(*within.problem());
        }
    }
    if (type.value_or(0) != 0U && request.grammar)
        format.refuse("type", "comes beside another format of the answer; say one");
    if (format.problem()) {
        fields.adopt(*format.problem());
        return false;
    }
    if (type.value_or(0) == 0U)
        return false;
    description.is_lenient = is_lenient(fields);
    request.grammar = std::move(description);
    return type == 1U;
}

} // namespace etna::server::openai
