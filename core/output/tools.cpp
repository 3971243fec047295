#include "core/output/tools.hpp"

#include "core/base/json.hpp"
#include "core/output/call_object.hpp"
#include "core/output/json_scanner.hpp"
#include "core/output/markers.hpp"
#include "core/output/notation.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::output {

namespace {

constexpr int max_schema_depth = 16; ///< nesting of anyOf and the like

uint8_t named_type(std::string_view name) {
    struct Named {
        std::string_view name;
        uint8_t type;
    };
    constexpr Named all[] = {{"string", string_type},   {"integer", integer_type}, {"number", number_type},
                             {"boolean", boolean_type}, {"object", object_type},   {"array", array_type},
                             {"null", null_type}};
    const auto* const found =
        std::find_if(std::begin(all), std::end(all), [name](const Named& one) { return one.name == name; });
    return found == std::end(all) ? uint8_t{no_type} : found->type;
}

uint8_t type_of(const Json& value) {
    if (value.is_number_integer())
        return integer_type;
    return named_type(value.type_name());
}

using jinja::Type;
using jinja::Value;

uint8_t type_of(const Value& value) {
    switch (value.type()) {
    case Type::boolean:
        return boolean_type;
    case Type::integer:
    case Type::large:
        return integer_type;
    case Type::real:
        return number_type;
    case Type::string:
        return string_type;
    case Type::list:
        return array_type;
    case Type::dict:
        return object_type;
    default:
        return null_type;
    }
}

/// Returns the member of that name; null if `object` is not a dict or has none.
const Value* find_member(const Value& object, std::string_view key) {
    return object.is(Type::dict) ? object.dict()->find(key) : nullptr;
}

/// Returns the items of the list at `key`; none if there is no list.
std::span<const Value> items_at(const Value& object, std::string_view key) {
    const Value* const list = find_member(object, key);
    return list != nullptr && list->is(Type::list) ? std::span<const Value>(list->sequence()->items)
                                                   : std::span<const Value>();
}

uint8_t schema_types(const Value& schema, int depth) {
    if (!schema.is(Type::dict) || depth == 0)
        return no_type;
    uint8_t types = no_type;
    if (const Value* const type = find_member(schema, "type")) {
        if (type->is(Type::string))
            return named_type(type->string());
        for (const Value& one : items_at(schema, "type"))
            types |= one.is(Type::string) ? named_type(one.string()) : uint8_t{no_type};
        return types;
    }
    for (const std::string_view choice : {"anyOf", "oneOf", "allOf"}) {
        for (const Value& one : items_at(schema, choice))
            types |= schema_types(one, depth - 1);
    }
    for (const Value& one : items_at(schema, "enum"))
        types |= type_of(one);
    if (const Value* const value = find_member(schema, "const"))
        types |= type_of(*value);
    return types;
}

/// Returns the function of a tool, which may be the tool itself.
const Value& function_of(const Value& tool) {
    const Value* const function = find_member(tool, "function");
    return function != nullptr && function->is(Type::dict) ? *function : tool;
}

/// Returns the function's name; null if it has none.
const std::string* name_of(const Value& function) {
    const Value* const name = find_member(function, "name");
    return name != nullptr && name->is(Type::string) ? &name->string() : nullptr;
}

/// Returns the declared parameters; none if there are none.
std::span<const jinja::Dict::Entry> properties_of(const Value& function) {
    const Value* const parameters = find_member(function, "parameters");
    const Value* const properties = parameters == nullptr ? nullptr : find_member(*parameters, "properties");
    return properties != nullptr && properties->is(Type::dict)
               ? std::span<const jinja::Dict::Entry>(properties->dict()->entries)
               : std::span<const jinja::Dict::Entry>();
}

Error invalid_tools(std::string what) {
    return {
        ErrorKind::invalid_argument, "`tools`: " + std::move(what),
        "give an array of {\"type\": \"function\", \"function\": {\"name\": ..., \"parameters\": {...}}}"};
}

bool fits(const Json& value, uint8_t types) {
    if (types == no_type)
        return true;
    if ((types & type_of(value)) != 0)
        return true;
    const bool is_integral =
        value.is_number_float() && std::floor(value.get<double>()) == value.get<double>();
    return value.is_number() && ((types & number_type) != 0 || ((types & integer_type) != 0 && is_integral));
}

/// Whether `text` is any JSON value, not only an object.
bool is_json(std::string_view text) {
    return is_json_object("{\"v\":" + std::string(text) + "}");
}

} // namespace

bool is_function_name(std::string_view name) {
    return !name.empty() && name.size() <= max_name_bytes &&
           name.find_first_of(" \t\r\n<>{}()[]\"'`,;") == std::string_view::npos;
}

Result<Tools> Tools::create(std::span<const Value> tools) {
    Tools all;
    for (const Value& tool : tools) {
        const Value& function = function_of(tool);
        const std::string* const name = name_of(function);
        if (name == nullptr) {
            const Value* const type = find_member(tool, "type");
            if (type != nullptr && type->is(Type::string) && type->string() != "function")
                continue; // a built-in tool
            return invalid_tools("a tool has no name");
        }
        Parameters& parameters = all.functions_[*name];
        for (const auto& [key, schema] : properties_of(function))
            parameters[key.string()] = schema_types(schema, max_schema_depth);
    }
    return all;
}

bool Tools::may_offer(std::string_view text) const {
    const auto first = functions_.lower_bound(text);
    return first != functions_.end() && std::string_view(first->first).starts_with(text);
}

uint8_t Tools::types_of(std::string_view function, std::string_view parameter) const {
    const auto found = functions_.find(function);
    if (found == functions_.end())
        return no_type;
    const auto types = found->second.find(parameter);
    return types == found->second.end() ? uint8_t{no_type} : types->second;
}

const Tools::Parameters* Tools::parameters_of(std::string_view function) const {
    const auto found = functions_.find(function);
    return found == functions_.end() ? nullptr : &found->second;
}

Result<std::vector<Function>> functions_of(std::span<const Value> tools) {
    ETNA_CHECK(Tools::create(tools));
    std::vector<Function> all;
    for (std::size_t i = 0; i < tools.size(); ++i) {
        const Value& function = function_of(tools[i]);
        const std::string* const name = name_of(function);
        if (name == nullptr)
            continue; // a built-in tool
        const Value* const strict = find_member(function, "strict");
        const Value* const parameters = find_member(function, "parameters");
        Function one = {.name = *name,
                        .parameters = parameters == nullptr ? Value() : *parameters,
                        .is_strict = strict != nullptr && strict->is(Type::boolean) && strict->boolean(),
                        .schema_path = fmt::format("tools[{}]{}.parameters", i,
                                                   &function == &tools[i] ? "" : ".function")};
        for (const auto& [key, schema] : properties_of(function))
            one.names.push_back(key.string());
        const bool is_known = std::any_of(all.begin(), all.end(),
                                          [&](const Function& other) { return other.name == one.name; });
        if (!is_known)
            all.push_back(std::move(one));
    }
    return all;
}

std::string value_to_json(std::string_view text, uint8_t types) {
    if (types == string_type)
        return json_string(text);
    std::string value(trim(text));
    const bool is_null = value == "null" || value == "None";
    if (is_null && types != no_type && (types & string_type) == 0)
        return "null";
    if (!is_json(value))
        value = literal_to_json(value).value_or("");
    if (!value.empty()) {
        const Json parsed = parse_json(value);
        if (!parsed.is_discarded() && !parsed.is_string() && fits(parsed, types))
            return value;
    }
    return json_string(text);
}

} // namespace etna::output
