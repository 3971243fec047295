#include "server/openai/tool_fields.hpp"

#include "core/grammar/language.hpp"
#include "core/grammar/regex.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "core/jinja/json_value.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// Checks the expression on its own, because an invalid one can become valid in brackets: "a)|(?:b". Other
/// errors are found in the resulting schema. Checks only the syntax: with empty texts for letters, nothing is
/// built.
void check_expression(Fields& grammar, const std::string& definition, ExpressionSteps& steps) {
    grammar::Language language;
    language.set_step_budget(steps.left, true);
    const auto texts = grammar::regex(
        language, definition, [](const grammar::CodePoints&) { return grammar::empty; },
        grammar::MatchMode::search);
    steps.left = language.steps_left();
    if (texts || (texts.error().kind != ErrorKind::invalid_argument && !language.is_out_of_steps()))
        return;
    const std::string path = grammar.path_of("definition");
    grammar.adopt({.message = fmt::format("{}: {}", path, message_for_client(texts.error())),
                   .param = path,
                   .code = "invalid_value"});
}

/// The schema of the tool's input.
Json input_schema(Fields& custom, ExpressionSteps& steps) {
    Json input = {{"type", "string"}};
    const Json* const given = custom.object("format");
    if (given == nullptr)
        return input;
    Fields format(*given, custom.path_of("format"));
    format.require("type");
    const bool is_constrained = format.choice("type", {"text", "grammar"}) == 1U;
    if (is_constrained)
        format.require("grammar");
    if (const Json* const given_grammar = is_constrained ? format.object("grammar") : nullptr) {
        Fields grammar(*given_grammar, format.path_of("grammar"));
        read_grammar(grammar, input, steps);
        format.adopt(grammar);
    }
    custom.adopt(format);
    return input;
}

} // namespace

void read_grammar(Fields& grammar, Json& schema, ExpressionSteps& steps) {
    grammar.require("syntax");
    grammar.require("definition");
    const bool is_lark = grammar.choice("syntax", {"lark", "regex"}) == 0U;
    const std::string definition = grammar.text("definition").value_or("");
    if (is_lark) {
        schema[std::string(grammar::lark_keyword)] = definition;
    } else {
        check_expression(grammar, definition, steps);
        schema["pattern"] = "^(?:" + definition + ")$";
    }
}

std::string_view grammar_location(std::string_view text) {
    constexpr std::string_view input = ": #/properties/input/";
    return text.starts_with(input) ? text.substr(0, text.find(": ", input.size())) : std::string_view();
}

bool is_named_custom(const Json& json) {
    return json.is_object() && json.value("type", Json()) == "custom" && json.contains("custom") &&
           json["custom"].is_object() && json["custom"].value("name", Json()).is_string();
}

Json function_of_custom(Fields& tool, ExpressionSteps& steps) {
    tool.accept({"type"});
    Fields custom(*tool.object("custom"), tool.path_of("custom"));
    Json function = {{"name", custom.text("name").value_or("")}};
    if (const auto description = custom.text("description"))
        function["description"] = *description;
    Json input = input_schema(custom, steps);
    const bool is_constrained = input.size() > 1;
    function["parameters"] = {{"type", "object"},
                              {"properties", {{"input", std::move(input)}}},
                              {"required", Json::array({"input"})},
                              {"additionalProperties", false}};
    if (is_constrained)
        function["strict"] = true;
    tool.adopt(custom);
    return {{"type", "function"}, {"function", std::move(function)}};
}

Json with_functions_only(Json messages) {
    for (Json& message : messages) {
        if (!message.contains("tool_calls") || message["tool_calls"].is_null())
            continue;
        for (Json& call : message["tool_calls"]) {
            if (!is_named_custom(call))
                continue;
            const Json custom = call["custom"];
            call.erase("custom");
            call["type"] = "function";
            call["function"] = {{"name", custom["name"]},
                                {"arguments", dump_json(Json({{"input", custom["input"]}}))}};
        }
    }
    return messages;
}

void map_tool_error(ApiError& error, const std::vector<OfferedTool>& tools) {
    for (std::size_t i = 0; i < tools.size(); ++i) {
        const std::string generated = fmt::format("tools[{}].function.parameters", i);
        if (error.param != generated)
            continue;
        const auto& [index, is_custom, is_legacy] = tools[i];
        error.param = is_custom   ? fmt::format("tools[{}].custom.format.grammar.definition", index)
                      : is_legacy ? fmt::format("functions[{}].parameters", index)
                                  : fmt::format("tools[{}].function.parameters", index);
        if (!error.message.starts_with(generated))
            return;
        std::string_view rest = std::string_view(error.message).substr(generated.size());
        if (is_custom)
            rest.remove_prefix(grammar_location(rest).size());
        error.message = *error.param + std::string(rest);
        return;
    }
}

namespace {

bool has_name(const Json& json) {
    return json.is_object() && json.value("name", Json()).is_string();
}

Json as_function(Json function) {
    return {{"type", "function"}, {"function", std::move(function)}};
}

Json read_function_call(Fields& fields) {
    const Json* const given = fields.any("function_call");
    if (given == nullptr || *given == "auto")
        return "auto";
    if (*given == "none")
        return *given;
    if (has_name(*given))
        return as_function({{"name", (*given)["name"]}});
    fields.refuse("function_call", R"(must be "none", "auto" or {"name": ...})");
    return nullptr;
}

} // namespace

std::optional<LegacyFunctions> read_legacy_functions(Fields& fields) {
    LegacyFunctions legacy = {.choice = read_function_call(fields)};
    const Json* const given = fields.list("functions");
    if (given == nullptr && legacy.choice.is_string())
        return std::nullopt;
    if (given == nullptr) {
        fields.refuse("function_call", "requires `functions`");
        return std::nullopt;
    }
    for (const std::string_view current : {"tools", "tool_choice"}) {
        if (fields.any(current) != nullptr)
            fields.refuse(std::string(current), "cannot be combined with the deprecated `functions`");
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < given->size() && !fields.problem(); ++i) {
        const std::string path = fmt::format("functions[{}]", i);
        if (!has_name((*given)[i])) {
            fields.refuse(path, R"(must be {"name": ..., "parameters": ...})");
        } else if (!names.insert((*given)[i]["name"]).second) {
            fields.refuse(path + ".name", "is already the name of another function");
        }
        legacy.tools.push_back(as_function((*given)[i]));
    }
    return legacy;
}

void use_legacy_call(Json& answer) {
    for (Json& choice : answer["choices"]) {
        if (choice.value("finish_reason", Json()) == "tool_calls")
            choice["finish_reason"] = "function_call";
        for (const char* const member : {"message", "delta"}) {
            if (!choice.contains(member) || !choice[member].contains("tool_calls"))
                continue;
            Json& message = choice[member];
            message["function_call"] = message["tool_calls"][0]["function"];
            message.erase("tool_calls");
        }
    }
}

namespace {

/// The effect of `tool_choice`.
struct ToolChoice {
    bool offers_tools = true;
    bool requires_call = false;
    std::optional<Json> required;  ///< the tool that must be called, by type and name; empty: any
    const Json* allowed = nullptr; ///< the allowed tools, by type and name; null: all
};

/// A tool as offered to the model.
struct ReadTool {
    Json function;
    OfferedTool offered;
};

constexpr std::string_view tool_choice_values =
    R"(must be "none", "auto", "required", {"type": "function", "function": {"name": ...}}, )"
    R"({"type": "custom", "custom": {"name": ...}} or )"
    R"({"type": "allowed_tools", "allowed_tools": {"mode": "auto" or "required", "tools": [...]}})";

bool is_named_function(const Json& json) {
    return json.is_object() && json.value("type", Json("function")) == "function" &&
           json.contains("function") && json["function"].is_object() && json["function"].contains("name") &&
           json["function"]["name"].is_string();
}

bool is_named(const Json& json) {
    return is_named_function(json) || is_named_custom(json);
}

std::string_view type_of(const Json& tool) {
    return is_named_custom(tool) ? "custom" : "function";
}

std::string name_of(const Json& tool) {
    return tool[std::string(type_of(tool))]["name"].get<std::string>();
}

void read_allowed(Fields& fields, const Json& given, ToolChoice& choice) {
    Fields allowed(given, "tool_choice.allowed_tools");
    const auto mode = allowed.choice("mode", {"auto", "required"});
    allowed.require("mode");
    allowed.require("tools");
    choice.allowed = allowed.list("tools");
    for (std::size_t i = 0; choice.allowed != nullptr && i < choice.allowed->size(); ++i) {
        if (!is_named((*choice.allowed)[i])) {
            allowed.refuse(fmt::format("tools[{}]", i),
                           R"(must be {"type": "function", "function": {"name": ...}})");
        }
    }
    if (mode == 1U)
        choice.requires_call = true;
    fields.adopt(allowed);
}

ToolChoice read_choice(Fields& fields) {
    ToolChoice choice;
    const Json* given = fields.any("tool_choice");
    if (given == nullptr || *given == "auto")
        return choice;
    if (*given == "none") {
        choice.offers_tools = false;
    } else if (*given == "required") {
        choice.requires_call = true;
    } else if (given->is_object() && given->value("type", Json()) == "allowed_tools" &&
               given->contains("allowed_tools") && (*given)["allowed_tools"].is_object()) {
        read_allowed(fields, (*given)["allowed_tools"], choice);
    } else if (is_named(*given)) {
        choice.requires_call = true;
        choice.required = *given;
    } else {
        fields.refuse("tool_choice", std::string(tool_choice_values));
    }
    return choice;
}

/// Reads the tool at `index`; a nameless function if it is invalid.
ReadTool read_tool(Fields& fields, const Json& given, std::size_t index, ExpressionSteps& steps) {
    const std::string path = fmt::format("tools[{}]", index);
    if (is_named_custom(given)) {
        Fields tool(given, path);
        Json function = function_of_custom(tool, steps);
        fields.adopt(tool);
        return {.function = std::move(function), .offered = {.index = index, .is_custom = true}};
    }
    if (is_named_function(given)) {
        Fields function(given["function"], path + ".function");
        function.object("parameters");
        if (function.problem())
            fields.adopt(*function.problem());
        return {.function = given, .offered = {.index = index}};
    }
    fields.refuse(path, R"(must be {"type": "function", "function": {"name": ..., "parameters": ...}} )"
                        R"(or {"type": "custom", "custom": {"name": ..., "format": ...}})");
    return {};
}

std::vector<ReadTool> read_list(Fields& fields) {
    const Json* const given = fields.list("tools");
    std::vector<ReadTool> tools;
    std::set<std::string> names;
    ExpressionSteps steps;
    for (std::size_t i = 0; given != nullptr && i < given->size() && !fields.problem(); ++i) {
        tools.push_back(read_tool(fields, (*given)[i], i, steps));
        if (!fields.problem() && !names.insert(name_of(tools.back().function)).second) {
            fields.refuse(fmt::format("tools[{}].{}.name", i, type_of((*given)[i])),
                          "is already the name of another tool");
        }
    }
    return tools;
}

/// The same for the deprecated fields.
std::vector<ReadTool> legacy_list(const LegacyFunctions& legacy) {
    std::vector<ReadTool> tools;
    for (const Json& function : legacy.tools)
        tools.push_back({.function = function, .offered = {.index = tools.size(), .is_legacy = true}});
    return tools;
}

ToolChoice legacy_choice(const LegacyFunctions& legacy) {
    ToolChoice choice;
    choice.offers_tools = legacy.choice != "none";
    choice.requires_call = legacy.choice.is_object();
    if (choice.requires_call)
        choice.required = legacy.choice;
    return choice;
}

/// Refuses a name that matches none of the tools.
void check_named(Fields& fields, const std::string& path, const Json& named,
                 const std::vector<ReadTool>& tools) {
    const std::string name = name_of(named);
    const auto found = std::find_if(tools.begin(), tools.end(),
                                    [&](const ReadTool& tool) { return name_of(tool.function) == name; });
    if (found == tools.end()) {
        fields.refuse(path, fmt::format("names `{}`, which is not among the tools", name));
    } else if (found->offered.is_custom != is_named_custom(named)) {
        const std::string_view type = found->offered.is_custom ? "custom" : "function";
        fields.refuse(path,
                      fmt::format("names `{}` as a {} tool; it is a {} tool", name, type_of(named), type));
    }
}

/// The allowed tools, in the order of `tools`.
std::vector<ReadTool> allowed_of(Fields& fields, const std::vector<ReadTool>& tools, const Json& allowed) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < allowed.size(); ++i) {
        check_named(fields, fmt::format("tool_choice.allowed_tools.tools[{}]", i), allowed[i], tools);
        names.insert(name_of(allowed[i]));
    }
    std::vector<ReadTool> remaining;
    std::copy_if(tools.begin(), tools.end(), std::back_inserter(remaining),
                 [&](const ReadTool& tool) { return names.contains(name_of(tool.function)); });
    return remaining;
}

} // namespace

RequestTools read_tools(Fields& fields, chat::Conversation& conversation) {
    RequestTools result;
    const std::optional<LegacyFunctions> legacy = read_legacy_functions(fields);
    result.are_legacy = legacy.has_value();
    std::vector<ReadTool> tools = legacy ? legacy_list(*legacy) : read_list(fields);
    const ToolChoice choice = legacy ? legacy_choice(*legacy) : read_choice(fields);
    if (fields.problem())
        return result;
    for (const ReadTool& tool : tools) {
        if (tool.offered.is_custom)
            result.custom.insert(name_of(tool.function));
    }
    if (choice.allowed != nullptr)
        tools = allowed_of(fields, tools, *choice.allowed);
    if (choice.requires_call && tools.empty())
        fields.refuse(legacy ? "function_call" : "tool_choice",
                      legacy ? "requires `functions`" : "requires `tools`");
    if (choice.required)
        check_named(fields, legacy ? "function_call" : "tool_choice", *choice.required, tools);
    if (fields.problem() || tools.empty() || !choice.offers_tools)
        return result;
    for (const ReadTool& tool : tools) {
        result.offered.push_back(tool.offered);
        conversation.tools.push_back(jinja::value_of_json(tool.function));
    }
    if (choice.requires_call)
        conversation.required_tool = choice.required ? name_of(*choice.required) : std::string();
    if (legacy)
        conversation.calls = chat::CallCount::one;
    return result;
}

} // namespace etna::server::openai
