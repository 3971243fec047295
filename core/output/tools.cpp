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

uint8_t schema_types(const Json& schema, int depth) {
    if (!schema.is_object() || depth == 0)
        return no_type;
    uint8_t types = no_type;
    if (const auto type = schema.find("type"); type != schema.end()) {
        for (const auto& one : type->is_array() ? *type : Json::array({*type})) {
            if (one.is_string())
                types |= named_type(one.get_ref<const std::string&>());
        }
        return types;
    }
    for (const char* choice : {"anyOf", "oneOf", "allOf"}) {
        if (const auto found = schema.find(choice); found != schema.end() && found->is_array()) {
            for (const auto& one : *found)
                types |= schema_types(one, depth - 1);
        }
    }
    if (const auto values = schema.find("enum"); values != schema.end() && values->is_array()) {
        for (const auto& one : *values)
            types |= type_of(one);
    }
    if (const auto value = schema.find("const"); value != schema.end())
        types |= type_of(*value);
    return types;
}

const Json& member(const Json& object, const char* key) {
    static const Json none;
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found == object.end() ? none : *found;
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

Result<Tools> Tools::create(std::string_view text) {
    Tools tools;
    if (trim(text).empty())
        return tools;
    const Json list = parse_json(text);
    if (list.is_null())
        return tools;
    if (!list.is_array())
        return invalid_tools(list.is_discarded() ? "not JSON" : "not an array");
    for (const auto& tool : list) {
        const Json& function = member(tool, "function").is_object() ? member(tool, "function") : tool;
        const Json& name = member(function, "name");
        if (!name.is_string()) {
            if (member(tool, "type").is_string() && member(tool, "type") != "function")
                continue; // a built-in tool
            return invalid_tools("a tool has no name");
        }
        Parameters& parameters = tools.functions_[name.get<std::string>()];
        for (const auto& [key, schema] : member(member(function, "parameters"), "properties").items())
            parameters[key] = schema_types(schema, max_schema_depth);
    }
    return tools;
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

Result<std::vector<Function>> functions_of(std::string_view tools) {
    ETNA_CHECK(Tools::create(tools));
    std::vector<Function> all;
    const auto list = parse_json(tools);
    for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
        const bool is_wrapped = list[i].contains("function") && list[i]["function"].is_object();
        const auto& function = is_wrapped ? list[i]["function"] : list[i];
        if (!function.contains("name") || !function["name"].is_string())
            continue; // a built-in tool
        Function one = {.name = function["name"],
                        .parameters = {},
                        .is_strict = function.value("strict", Json(false)) == true,
                        .schema_path =
                            fmt::format("tools[{}]{}.parameters", i, is_wrapped ? ".function" : "")};
        if (function.contains("parameters") && !function["parameters"].is_null())
            one.parameters = dump_json(function["parameters"]);
        const auto parameters = function.value("parameters", Json());
        if (parameters.is_object() && parameters.contains("properties") &&
            parameters["properties"].is_object()) {
            for (const auto& [name, schema] : parameters["properties"].items())
                one.names.push_back(name);
        }
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
