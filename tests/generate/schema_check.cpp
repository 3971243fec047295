#include "tests/generate/schema_check.hpp"

#include "core/grammar/lark.hpp"

#include <algorithm>
#include <cmath>
#include <regex>

namespace etna::test {
namespace {

using Json = nlohmann::ordered_json;

bool has_type(const Json& value, const std::string& type) {
    if (type == "integer")
        return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
    if (type == "number")
        return value.is_number();
    return type == value.type_name();
}

std::string misfit_of_text(const Json& schema, const std::string& text) {
    const auto length = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    }));
    if (length < schema.value("minLength", std::size_t{0}) ||
        length > schema.value("maxLength", std::size_t{1} << 20))
        return "length";
    if (schema.contains("pattern") &&
        !std::regex_search(text, std::regex(schema["pattern"].get<std::string>())))
        return "pattern";
    if (schema.contains("x-etna-lark")) {
        grammar::Language language;
        const auto start = grammar::lark(language, schema["x-etna-lark"].get<std::string>());
        if (!start || !language.is_nullable(language.next(*start, text)))
            return "x-etna-lark";
    }
    return {};
}

std::string misfit_of_object(const Json& schema, const Json& value, const Json& root) {
    for (const Json& name : schema.value("required", Json::array())) {
        if (!value.contains(name.get<std::string>()))
            return "required";
    }
    const Json properties = schema.value("properties", Json::object());
    const Json others = schema.value("additionalProperties", Json(true));
    for (const auto& [name, member] : value.items()) {
        const std::string wrong = misfit(properties.contains(name) ? properties[name] : others, member, root);
        if (!wrong.empty())
            return name + "/" + wrong;
    }
    return {};
}

} // namespace

std::string misfit(const Json& schema, const Json& value, const Json& root) {
    if (schema.is_boolean())
        return schema.get<bool>() ? "" : "false";
    if (schema.contains("$ref"))
        return misfit(root.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), value, root);
    if (schema.contains("type")) {
        const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
        if (std::none_of(types.begin(), types.end(),
                         [&](const Json& type) { return has_type(value, type.get<std::string>()); }))
            return "type";
    }
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
        return "enum";
    if (schema.contains("anyOf") &&
        std::none_of(schema["anyOf"].begin(), schema["anyOf"].end(),
                     [&](const Json& one) { return misfit(one, value, root).empty(); }))
        return "anyOf";
    if (value.is_number() && (value.get<double>() < schema.value("minimum", -1e300) ||
                              value.get<double>() > schema.value("maximum", 1e300)))
        return "range";
    if (value.is_string())
        return misfit_of_text(schema, value.get<std::string>());
    if (value.is_object())
        return misfit_of_object(schema, value, root);
    for (const Json& item : value.is_array() ? value : Json::array()) {
        const std::string wrong = misfit(schema.value("items", Json(true)), item, root);
        if (!wrong.empty())
            return "items/" + wrong;
    }
    return value.is_array() && value.size() > schema.value("maxItems", std::size_t{1} << 20) ? "maxItems"
                                                                                             : "";
}

} // namespace etna::test
