#include "server/responses/tools.hpp"

#include "server/openai/custom_tools.hpp"
#include "server/responses/closed_schema.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

constexpr std::array<std::string_view, 16> hosted = {"apply_patch",
                                                     "code_interpreter",
                                                     "computer",
                                                     "computer_use",
                                                     "computer_use_preview",
                                                     "file_search",
                                                     "image_generation",
                                                     "local_shell",
                                                     "mcp",
                                                     "programmatic_tool_calling",
                                                     "shell",
                                                     "tool_search",
                                                     "web_search",
                                                     "web_search_2025_08_26",
                                                     "web_search_preview",
                                                     "web_search_preview_2025_03_11"};

/// The schema of a custom tool's input.
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

Json function_of(const std::string& name, const std::optional<std::string>& description, Json parameters,
                 bool is_strict) {
    Json function = {{"name", name}};
    if (description)
        function["description"] = *description;
    if (!parameters.is_null())
        function["parameters"] = std::move(parameters);
    if (is_strict)
        function["strict"] = true;
    return {{"type", "function"}, {"function", std::move(function)}};
}

/// Reads the tools of one list, and of the namespaces in it.
class ListReader {
public:
    explicit ListReader(Tools& tools) : tools_(&tools) {}

    void read(Fields& fields) {
        each(fields, [&](Fields& tool, const Json& given, const std::string& place) {
            const std::string type = tool.text("type").value_or("");
            if (type == "namespace") {
                read_namespace(tool, given);
            } else if (is_hosted(type)) {
                tools_->left_out.push_back(type);
                for (const auto& [name, value] : given.items())
                    tool.accept({name});
            } else if (auto told = read_tool(tool, given, place, {})) {
                tools_->told.push_back(std::move(*told));
            }
        });
    }

private:
    template <typename Read>
    static void each(Fields& fields, const Read& read) {
        const Json* const given = fields.list("tools");
        for (std::size_t i = 0; given != nullptr && i < given->size() && !fields.problem(); ++i) {
            const std::string place = fmt::format("tools[{}]", i);
            if (!(*given)[i].is_object())
                return fields.refuse(place, "must be an object", "invalid_type");
            const std::string path = fields.path_of(place);
            Fields tool((*given)[i], path);
            tool.require("type");
            read(tool, (*given)[i], path);
            if (tool.problem()) {
                fields.adopt(*tool.problem());
            } else {
                fields.adopt_unknown(tool.unknown());
            }
        }
    }

    void read_namespace(Fields& fields, const Json& given) {
        fields.require("name");
        fields.require("tools");
        const std::string space = fields.text("name").value_or("");
        const auto description = fields.text("description");
        if (space.empty())
            fields.refuse("name", "must not be empty");
        const std::size_t first = tools_->chat["tools"].size();
        Json told = given;
        told["tools"] = Json::array();
        each(fields, [&](Fields& tool, const Json& member, const std::string& place) {
            if (auto one = read_tool(tool, member, place, space))
                told["tools"].push_back(std::move(*one));
        });
        tools_->told.push_back(std::move(told));
        if (description && !fields.problem() && first < tools_->chat["tools"].size())
            tell_about(space, *description, tools_->chat["tools"][first]["function"]);
    }

    /// Puts a namespace's description into its first function, because models have no namespaces.
    static void tell_about(const std::string& space, const std::string& description, Json& function) {
        function["description"] = fmt::format("(About all tools of {}: {})\n{}", space, description,
                                              function.value("description", std::string()));
    }

    /// Reads a function or a custom tool and returns it as repeated in the response; empty for other types.
    std::optional<Json> read_tool(Fields& tool, const Json& given, const std::string& place,
                                  const std::string& space) {
        const std::string type = tool.text("type").value_or("");
        const bool is_custom = type == "custom";
        if (!is_custom && type != "function") {
            tool.refuse("type",
                        fmt::format("is `{}`: nothing here runs such tools; offer functions and custom "
                                    "tools, and run them yourself",
                                    type),
                        "unsupported_value");
            return std::nullopt;
        }
        tool.require("name");
        const std::string name = tool.text("name").value_or("");
        const auto known = tools_->names.add({.space = space, .name = name, .is_custom = is_custom});
        if (!known) {
            tool.refuse("name", "is that of another tool already");
            return std::nullopt;
        }
        tools_->offered.push_back({.place = place, .is_custom = is_custom});
        return is_custom ? read_custom(tool, given, *known) : read_function(tool, name, *known);
    }

    Json read_function(Fields& tool, const std::string& name, const std::string& known) {
        const auto description = tool.text("description");
        const Json* const parameters = tool.object("parameters");
        const Json shape = parameters == nullptr ? Json() : *parameters;
        const bool is_strict = tool.flag("strict").value_or(is_closed_schema(shape));
        tools_->chat["tools"].push_back(function_of(known, description, shape, is_strict));
        return {{"type", "function"},
                {"name", name},
                {"description", description ? Json(*description) : Json()},
                {"parameters", shape},
                {"strict", is_strict}};
    }

    Json read_custom(Fields& tool, const Json& given, const std::string& known) {
        const auto description = tool.text("description");
        Json properties = {{"input", input_schema(tool, steps_)}};
        const bool has_grammar = properties["input"].size() > 1;
        Json parameters = {{"type", "object"}, {"properties", std::move(properties)}};
        parameters["required"].push_back("input");
        parameters["additionalProperties"] = false;
        tools_->chat["tools"].push_back(function_of(known, description, std::move(parameters), has_grammar));
        Json told = given;
        told.emplace("format", Json{{"type", "text"}});
        return told;
    }

    Tools* tools_;
    openai::StepsOfChecks steps_;
};

} // namespace

bool is_hosted(std::string_view type) {
    return std::find(hosted.begin(), hosted.end(), type) != hosted.end();
}

void tell_of_tool(ApiError& error, const std::vector<OfferedTool>& offered) {
    constexpr std::string_view open = "tools[";
    constexpr std::string_view close = "].function.parameters";
    const std::string made = error.param.value_or("");
    if (!made.starts_with(open) || !made.ends_with(close))
        return;
    std::size_t index = 0;
    std::from_chars(made.data() + open.size(), made.data() + made.size(), index);
    if (index >= offered.size())
        return;
    const auto& [place, is_custom] = offered[index];
    error.param = fmt::format("{}.{}", place, is_custom ? "format.definition" : "parameters");
    if (!error.message.starts_with(made))
        return;
    std::string_view rest = std::string_view(error.message).substr(made.size());
    if (is_custom)
        rest.remove_prefix(openai::grammar_place(rest).size());
    error.message = *error.param + std::string(rest);
}

Tools read_tools(Fields& fields) {
    Tools tools;
    tools.chat["tools"] = Json::array();
    ListReader(tools).read(fields);
    read_tool_choice(fields, tools);
    if (tools.chat["tools"].empty())
        tools.chat.erase("tools");
    tools.may_call_several = fields.flag("parallel_tool_calls").value_or(true);
    tools.chat["parallel_tool_calls"] = tools.may_call_several;
    return tools;
}

} // namespace etna::server::responses
