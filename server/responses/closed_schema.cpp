#include "server/responses/closed_schema.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

namespace etna::server::responses {
namespace {

constexpr std::array<std::string_view, 7> types = {"string", "number", "integer", "boolean",
                                                   "object", "array",  "null"};
/// Keywords that determine a value; a schema without any of them is unconstrained.
constexpr std::array<std::string_view, 5> schema_kinds = {"type", "enum", "const", "anyOf", "$ref"};
/// Keywords whose values are skipped here: annotations, and those checked elsewhere.
constexpr std::array<std::string_view, 12> others = {
    "const",   "properties",  "required",    "additionalProperties",
    "$defs",   "definitions", "description", "title",
    "default", "examples",    "$comment",    "$schema"};

bool is_one_of(const auto& all, std::string_view name) {
    return std::find(all.begin(), all.end(), name) != all.end();
}

bool is_type(const Json& type) {
    return type.is_string() && is_one_of(types, type.get_ref<const std::string&>());
}

bool is_plain(const Json& schema, const Json& root);

bool are_plain(const Json& schemas, const Json& root) {
    return std::all_of(schemas.begin(), schemas.end(), [&](const Json& one) { return is_plain(one, root); });
}

/// The definitions themselves are checked once, with the root.
bool is_reference(const Json& reference, const Json& root) {
    const std::string text = reference.is_string() ? reference.get<std::string>() : std::string();
    for (const std::string member : {"$defs", "definitions"}) {
        const std::string start = "#/" + member + "/";
        if (text.starts_with(start) && root.contains(member) &&
            root[member].contains(text.substr(start.size())))
            return true;
    }
    return text == "#";
}

bool is_closed_object(const Json& schema, const Json& root) {
    const Json properties = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    if (schema.value("additionalProperties", Json()) != false || !properties.is_object() ||
        !required.is_array())
        return false;
    std::set<std::string> optional;
    for (const auto& [name, property] : properties.items())
        optional.insert(name);
    for (const Json& name : required) {
        if (!name.is_string() || optional.erase(name.get<std::string>()) == 0)
            return false;
    }
    return optional.empty() && are_plain(properties, root);
}

bool is_plain_keyword(std::string_view name, const Json& value, const Json& root) {
    if (name == "type") {
        return value.is_array() ? !value.empty() && std::all_of(value.begin(), value.end(), is_type)
                                : is_type(value);
    }
    if (name == "enum")
        return value.is_array() && !value.empty();
    if (name == "anyOf")
        return value.is_array() && !value.empty() && are_plain(value, root);
    if (name == "$ref")
        return is_reference(value, root);
    if (name == "items")
        return is_plain(value, root);
    if (name == "minimum" || name == "maximum")
        return value.is_number();
    return is_one_of(others, name);
}

bool may_be_object(const Json& schema) {
    const Json type = schema.value("type", Json());
    return type == "object" || schema.contains("properties") || schema.contains("required") ||
           schema.contains("additionalProperties") ||
           (type.is_array() && std::find(type.begin(), type.end(), "object") != type.end());
}

bool is_plain(const Json& schema, const Json& root) {
    if (!schema.is_object())
        return false;
    bool has_kind = false;
    for (const auto& [name, value] : schema.items()) {
        if (!is_plain_keyword(name, value, root))
            return false;
        has_kind = has_kind || is_one_of(schema_kinds, name);
    }
    return has_kind && (!may_be_object(schema) || is_closed_object(schema, root));
}

} // namespace

bool is_closed_schema(const Json& schema) {
    if (!schema.is_object() || schema.value("type", Json()) != "object")
        return false;
    for (const char* const member : {"$defs", "definitions"}) {
        const Json definitions = schema.value(member, Json::object());
        if (!definitions.is_object() || !are_plain(definitions, schema))
            return false;
    }
    return is_plain(schema, schema);
}

} // namespace etna::server::responses
