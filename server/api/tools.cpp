#include "server/api/tools.hpp"

#include "core/grammar/language.hpp"
#include "core/grammar/regex.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "core/jinja/json_value.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::server::api {
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

Json function_definition(const std::string& name, const std::optional<std::string>& description,
                         Json parameters, bool is_strict) {
    Json function = {{"name", name}};
    if (description)
        function["description"] = *description;
    if (!parameters.is_null())
        function["parameters"] = std::move(parameters);
    if (is_strict)
        function["strict"] = true;
    return {{"type", "function"}, {"function", std::move(function)}};
}

Json custom_function(const std::string& name, const std::optional<std::string>& description, Json input) {
    const bool is_constrained = input.size() > 1;
    return function_definition(name, description,
                               {{"type", "object"},
                                {"properties", {{"input", std::move(input)}}},
                                {"required", Json::array({"input"})},
                                {"additionalProperties", false}},
                               is_constrained);
}

std::string name_of(const Tool& tool) {
    return tool.function["function"]["name"].get<std::string>();
}

std::vector<Tool>
read_tool_list(Fields& fields, std::string_view name_member,
               const std::function<std::optional<Tool>(Fields& tool, const std::string& path)>& read) {
    std::vector<Tool> tools;
    std::set<std::string> names;
    const Json* const given = fields.list("tools");
    for (std::size_t i = 0; given != nullptr && i < given->size() && !fields.problem(); ++i) {
        const std::string path = fmt::format("tools[{}]", i);
        if (!(*given)[i].is_object()) {
            fields.refuse(path, "must be an object", "invalid_type");
            break;
        }
        Fields tool((*given)[i], path);
        auto offered = read(tool, path);
        if (offered && !tool.problem()) {
            if (!names.insert(name_of(*offered)).second)
                tool.refuse(name_member, "is already the name of another tool");
            tools.push_back(std::move(*offered));
        }
        fields.adopt(tool);
    }
    return tools;
}

std::vector<OfferedTool> offer_tools(std::vector<Tool> tools, const ToolChoice& choice,
                                     chat::Conversation& conversation) {
    std::vector<OfferedTool> offered;
    for (Tool& tool : tools) {
        if (!choice.offers_tools || (choice.allowed && !choice.allowed->contains(name_of(tool))))
            continue;
        offered.push_back(std::move(tool.offered));
        conversation.tools.push_back(jinja::value_of_json(tool.function));
    }
    if (offered.empty())
        return offered;
    if (choice.requires_call)
        conversation.required_tool = choice.required.value_or("");
    return offered;
}

std::string history_arguments(const Json* arguments) {
    if (arguments == nullptr || arguments->is_null())
        return "{}";
    return arguments->is_string() ? arguments->get<std::string>() : dump_json(*arguments);
}

std::string custom_arguments(std::string_view input) {
    return dump_json({{"input", input}});
}

} // namespace etna::server::api
