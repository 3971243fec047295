#include "server/openai/custom_tools.hpp"

#include "core/grammar/language.hpp"
#include "core/grammar/regex.hpp"
#include "core/grammar/schema/json_schema.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// Checks the expression on its own, because an invalid one can become valid in brackets: "a)|(?:b". Other
/// errors are found in the resulting schema. Checks only the syntax: with empty texts for letters, nothing is
/// built.
void check_expression(Fields& grammar, const std::string& definition, StepsOfChecks& steps) {
    grammar::Language language;
    language.set_step_budget(steps.left, true);
    const auto texts = grammar::regex(
        language, definition, [](const grammar::CodePoints&) { return grammar::empty; },
        grammar::MatchMode::search);
    steps.left = language.steps_left();
    if (texts || (texts.error().kind != ErrorKind::invalid_argument && !language.is_out_of_steps()))
        return;
    const std::string place = grammar.path_of("definition");
    grammar.adopt({.status = 400,
                   .message = fmt::format("{}: {}", place, message_for_client(texts.error())),
                   .param = place,
                   .code = "invalid_value"});
}

/// The schema of the tool's input.
Json input_schema(Fields& custom, StepsOfChecks& steps) {
    Json input = {{"type", "string"}};
    const Json* const given = custom.object("format");
    if (given == nullptr)
        return input;
    Fields format(*given, custom.path_of("format"));
    format.require("type");
    const bool is_kept = format.choice("type", {"text", "grammar"}) == 1U;
    if (is_kept)
        format.require("grammar");
    if (const Json* const written = is_kept ? format.object("grammar") : nullptr) {
        Fields grammar(*written, format.path_of("grammar"));
        read_grammar(grammar, input, steps);
        if (grammar.problem())
            format.adopt(*grammar.problem());
        format.adopt_unknown(grammar.unknown());
    }
    if (format.problem())
        custom.adopt(*format.problem());
    custom.adopt_unknown(format.unknown());
    return input;
}

} // namespace

void read_grammar(Fields& grammar, Json& schema, StepsOfChecks& steps) {
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

std::string_view grammar_place(std::string_view text) {
    constexpr std::string_view input = ": #/properties/input/";
    return text.starts_with(input) ? text.substr(0, text.find(": ", input.size())) : std::string_view();
}

bool is_named_custom(const Json& json) {
    return json.is_object() && json.value("type", Json()) == "custom" && json.contains("custom") &&
           json["custom"].is_object() && json["custom"].value("name", Json()).is_string();
}

Json function_of_custom(Fields& tool, StepsOfChecks& steps) {
    tool.accept({"type"});
    Fields custom(*tool.object("custom"), tool.path_of("custom"));
    Json function = {{"name", custom.text("name").value_or("")}};
    if (const auto description = custom.text("description"))
        function["description"] = *description;
    Json input = input_schema(custom, steps);
    const bool is_kept = input.size() > 1;
    function["parameters"] = {{"type", "object"},
                              {"properties", {{"input", std::move(input)}}},
                              {"required", Json::array({"input"})},
                              {"additionalProperties", false}};
    if (is_kept)
        function["strict"] = true;
    if (custom.problem())
        tool.adopt(*custom.problem());
    tool.adopt_unknown(custom.unknown());
    return {{"type", "function"}, {"function", std::move(function)}};
}

Json with_functions_alone(Json messages) {
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
                                {"arguments", text_of(Json({{"input", custom["input"]}}))}};
        }
    }
    return messages;
}

void tell_of_tool(ApiError& error, const std::vector<OfferedTool>& tools) {
    for (std::size_t i = 0; i < tools.size(); ++i) {
        const std::string made = fmt::format("tools[{}].function.parameters", i);
        if (error.param != made)
            continue;
        const auto& [place, is_custom, is_older] = tools[i];
        error.param = is_custom  ? fmt::format("tools[{}].custom.format.grammar.definition", place)
                      : is_older ? fmt::format("functions[{}].parameters", place)
                                 : fmt::format("tools[{}].function.parameters", place);
        if (!error.message.starts_with(made))
            return;
        std::string_view rest = std::string_view(error.message).substr(made.size());
        if (is_custom)
            rest.remove_prefix(grammar_place(rest).size());
        error.message = *error.param + std::string(rest);
        return;
    }
}

} // namespace etna::server::openai
