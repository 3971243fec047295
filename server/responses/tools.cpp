#include "server/responses/tools.hpp"

#include "server/openai/custom_tools.hpp"

#include <array>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

/// The schema of the text that a custom tool takes.
Json input_schema(Fields& tool, openai::StepsOfChecks& steps) {
    Json input = {{"type", "string"}};
    const Json* const given = tool.object("format");
    if (given == nullptr)
        return input;
    Fields format(*given, tool.path_of("format"));
    format.require("type");
    if (format.choice("type", {"text", "grammar"}) == 1U)
        openai::read_grammar(format, input, steps);
    if (format.problem())
        tool.adopt(*format.problem());
    tool.adopt_unknown(format.unknown());
    return input;
}

Json function_of(const Json& name, const Json& description, Json parameters, bool is_strict) {
    Json function = {{"name", name}};
    if (!description.is_null())
        function["description"] = description;
    if (!parameters.is_null())
        function["parameters"] = std::move(parameters);
    if (is_strict)
        function["strict"] = true;
    return {{"type", "function"}, {"function", std::move(function)}};
}

void read_function(Fields& tool, Tools& tools) {
    const auto name = tool.text("name");
    const auto description = tool.text("description");
    const Json* const parameters = tool.object("parameters");
    const auto is_strict = tool.flag("strict");
    const Json shape = parameters == nullptr ? Json() : *parameters;
    Json told = {{"type", "function"}, {"name", name.value_or("")}};
    told["description"] = description ? Json(*description) : Json();
    told["parameters"] = shape;
    told["strict"] = is_strict ? Json(*is_strict) : Json(false);
    tools.told.push_back(std::move(told));
    tools.chat["tools"].push_back(function_of(name.value_or(""), description ? Json(*description) : Json(),
                                              shape, is_strict.value_or(false)));
}

void read_custom(Fields& tool, const Json& given, Tools& tools, openai::StepsOfChecks& steps) {
    const auto name = tool.text("name");
    const auto description = tool.text("description");
    Json properties = {{"input", input_schema(tool, steps)}};
    const bool has_grammar = properties["input"].size() > 1;
    Json parameters = {{"type", "object"}, {"properties", std::move(properties)}};
    parameters["required"].push_back("input");
    parameters["additionalProperties"] = false;
    Json told = given;
    told.emplace("format", Json{{"type", "text"}});
    tools.told.push_back(std::move(told));
    tools.custom.insert(name.value_or(""));
    tools.chat["tools"].push_back(function_of(name.value_or(""), description ? Json(*description) : Json(),
                                              std::move(parameters), has_grammar));
}

void read_list(Fields& fields, Tools& tools) {
    const Json* const given = fields.list("tools");
    std::set<std::string> names;
    openai::StepsOfChecks steps;
    for (std::size_t i = 0; given != nullptr && i < given->size() && !fields.problem(); ++i) {
        const std::string place = fmt::format("tools[{}]", i);
        if (!(*given)[i].is_object()) {
            fields.refuse(place, "must be an object", "invalid_type");
            break;
        }
        Fields tool((*given)[i], place);
        tool.require("type");
        const auto type = tool.text("type");
        if (type == "function" || type == "custom") {
            tool.require("name");
            if (!names.insert(tool.text("name").value_or("")).second)
                tool.refuse("name", "is that of another tool already");
        }
        if (type == "function") {
            read_function(tool, tools);
        } else if (type == "custom") {
            read_custom(tool, (*given)[i], tools, steps);
        } else if (type) {
            tool.refuse(
                "type",
                fmt::format("is `{}`: nothing here runs such tools; offer functions and custom tools, "
                            "and run them yourself",
                            *type),
                "unsupported_value");
        }
        if (tool.problem()) {
            fields.adopt(*tool.problem());
        } else {
            fields.adopt_unknown(tool.unknown());
        }
    }
}

/// {"type": "function" or "custom", "name"} as chat completions have it; null for what is neither.
Json named_tool(const Json& given) {
    const bool is_named =
        given.is_object() && given.value("name", Json()).is_string() &&
        (given.value("type", Json()) == "function" || given.value("type", Json()) == "custom");
    if (!is_named)
        return nullptr;
    return {{"type", "function"}, {"function", {{"name", given["name"]}}}};
}

void read_allowed(Fields& fields, const Json& given, Tools& tools) {
    Fields allowed(given, "tool_choice");
    allowed.require("tools");
    constexpr std::array<std::string_view, 3> modes = {"auto", "required", "none"};
    const std::string_view mode = modes.at(allowed.choice("mode", {modes.begin(), modes.end()}).value_or(0));
    const Json* const list = allowed.list("tools");
    Json names = Json::array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        names.push_back(named_tool((*list)[i]));
        if (names.back().is_null())
            allowed.refuse(fmt::format("tools[{}]", i), R"(must be {"type": "function", "name": ...})");
    }
    if (allowed.problem())
        return fields.adopt(*allowed.problem());
    allowed.accept({"type"});
    fields.adopt_unknown(allowed.unknown());
    tools.told_choice["mode"] = mode;
    if (mode == "none") {
        tools.chat["tool_choice"] = mode;
        return;
    }
    tools.chat["tool_choice"] = {{"type", "allowed_tools"},
                                 {"allowed_tools", {{"mode", mode}, {"tools", std::move(names)}}}};
}

void read_choice(Fields& fields, Tools& tools) {
    const Json* const given = fields.any("tool_choice");
    if (given == nullptr)
        return;
    tools.told_choice = *given;
    if (given->is_string()) {
        if (fields.choice("tool_choice", {"none", "auto", "required"}))
            tools.chat["tool_choice"] = *given;
        return;
    }
    if (given->is_object() && given->value("type", Json()) == "allowed_tools")
        return read_allowed(fields, *given, tools);
    tools.chat["tool_choice"] = named_tool(*given);
    if (tools.chat["tool_choice"].is_null()) {
        fields.refuse(
            "tool_choice",
            R"(must be "none", "auto", "required", {"type": "function" or "custom", "name": ...} or )"
            R"({"type": "allowed_tools", "mode": ..., "tools": [...]})");
    }
}

} // namespace

void tell_of_tool(ApiError& error, const Json& told) {
    constexpr std::string_view open = "tools[";
    constexpr std::string_view close = "].function.parameters";
    const std::string made = error.param.value_or("");
    if (!made.starts_with(open) || !made.ends_with(close))
        return;
    std::size_t index = 0;
    std::from_chars(made.data() + open.size(), made.data() + made.size(), index);
    const bool is_custom = index < told.size() && told[index].value("type", "") == "custom";
    error.param = fmt::format("{}{}].{}", open, index, is_custom ? "format.definition" : "parameters");
    if (!error.message.starts_with(made))
        return;
    std::string_view rest = std::string_view(error.message).substr(made.size());
    if (is_custom)
        rest.remove_prefix(openai::grammar_place(rest).size());
    error.message = *error.param + std::string(rest);
}

Tools read_tools(Fields& fields) {
    Tools tools;
    read_list(fields, tools);
    read_choice(fields, tools);
    tools.may_call_several = fields.flag("parallel_tool_calls").value_or(true);
    tools.chat["parallel_tool_calls"] = tools.may_call_several;
    return tools;
}

} // namespace etna::server::responses
