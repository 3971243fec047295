#include "server/openai/tool_fields.hpp"

#include "server/openai/older_functions.hpp"

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

/// The effect of `tool_choice`.
struct ToolChoice {
    bool offers_tools = true;
    bool demands_call = false;
    std::optional<Json> demanded;  ///< the tool that must be called, by type and name; empty: any
    const Json* allowed = nullptr; ///< the allowed tools, by type and name; null: all
};

/// A tool as offered to the model.
struct ReadTool {
    Json function;
    OfferedTool offered;
};

constexpr std::string_view choices_that_there_are =
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
        choice.demands_call = true;
    if (allowed.problem())
        fields.adopt(*allowed.problem());
    fields.adopt_unknown(allowed.unknown());
}

ToolChoice read_choice(Fields& fields) {
    ToolChoice choice;
    const Json* given = fields.any("tool_choice");
    if (given == nullptr || *given == "auto")
        return choice;
    if (*given == "none") {
        choice.offers_tools = false;
    } else if (*given == "required") {
        choice.demands_call = true;
    } else if (given->is_object() && given->value("type", Json()) == "allowed_tools" &&
               given->contains("allowed_tools") && (*given)["allowed_tools"].is_object()) {
        read_allowed(fields, (*given)["allowed_tools"], choice);
    } else if (is_named(*given)) {
        choice.demands_call = true;
        choice.demanded = *given;
    } else {
        fields.refuse("tool_choice", std::string(choices_that_there_are));
    }
    return choice;
}

/// Reads the tool at index `place`; a nameless function if it is invalid.
ReadTool read_tool(Fields& fields, const Json& given, std::size_t place, StepsOfChecks& steps) {
    const std::string path = fmt::format("tools[{}]", place);
    if (is_named_custom(given)) {
        Fields tool(given, path);
        Json function = function_of_custom(tool, steps);
        if (tool.problem())
            fields.adopt(*tool.problem());
        fields.adopt_unknown(tool.unknown());
        return {.function = std::move(function), .offered = {.place = place, .is_custom = true}};
    }
    if (is_named_function(given)) {
        Fields function(given["function"], path + ".function");
        function.object("parameters");
        if (function.problem())
            fields.adopt(*function.problem());
        return {.function = given, .offered = {.place = place}};
    }
    fields.refuse(path, R"(must be {"type": "function", "function": {"name": ..., "parameters": ...}} )"
                        R"(or {"type": "custom", "custom": {"name": ..., "format": ...}})");
    return {};
}

std::vector<ReadTool> read_list(Fields& fields) {
    const Json* const given = fields.list("tools");
    std::vector<ReadTool> tools;
    std::set<std::string> names;
    StepsOfChecks steps;
    for (std::size_t i = 0; given != nullptr && i < given->size() && !fields.problem(); ++i) {
        tools.push_back(read_tool(fields, (*given)[i], i, steps));
        if (!fields.problem() && !names.insert(name_of(tools.back().function)).second) {
            fields.refuse(fmt::format("tools[{}].{}.name", i, type_of((*given)[i])),
                          "is that of another tool already; give each tool its own");
        }
    }
    return tools;
}

/// The same for the deprecated fields.
std::vector<ReadTool> older_list(const OlderFunctions& older) {
    std::vector<ReadTool> tools;
    for (const Json& function : older.tools)
        tools.push_back({.function = function, .offered = {.place = tools.size(), .is_older = true}});
    return tools;
}

ToolChoice older_choice(const OlderFunctions& older) {
    ToolChoice choice;
    choice.offers_tools = older.choice != "none";
    choice.demands_call = older.choice.is_object();
    if (choice.demands_call)
        choice.demanded = older.choice;
    return choice;
}

/// Refuses a name that matches none of the tools.
void check_named(Fields& fields, const std::string& place, const Json& named,
                 const std::vector<ReadTool>& tools) {
    const std::string name = name_of(named);
    const auto found = std::find_if(tools.begin(), tools.end(),
                                    [&](const ReadTool& tool) { return name_of(tool.function) == name; });
    if (found == tools.end()) {
        fields.refuse(place, fmt::format("names `{}`, which is not among the tools", name));
    } else if (found->offered.is_custom != is_named_custom(named)) {
        const std::string_view type = found->offered.is_custom ? "custom" : "function";
        fields.refuse(place, fmt::format("names `{}` as a {} tool, and it is a {} tool; name it by that type",
                                         name, type_of(named), type));
    }
}

/// The allowed tools, in the order of `tools`.
std::vector<ReadTool> allowed_of(Fields& fields, const std::vector<ReadTool>& tools, const Json& allowed) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < allowed.size(); ++i) {
        check_named(fields, fmt::format("tool_choice.allowed_tools.tools[{}]", i), allowed[i], tools);
        names.insert(name_of(allowed[i]));
    }
    std::vector<ReadTool> left;
    std::copy_if(tools.begin(), tools.end(), std::back_inserter(left),
                 [&](const ReadTool& tool) { return names.contains(name_of(tool.function)); });
    return left;
}

} // namespace

RequestTools read_tools(Fields& fields, chat::Conversation& conversation) {
    RequestTools result;
    const std::optional<OlderFunctions> older = read_older_functions(fields);
    result.are_older = older.has_value();
    std::vector<ReadTool> tools = older ? older_list(*older) : read_list(fields);
    const ToolChoice choice = older ? older_choice(*older) : read_choice(fields);
    if (fields.problem())
        return result;
    for (const ReadTool& tool : tools) {
        if (tool.offered.is_custom)
            result.custom.insert(name_of(tool.function));
    }
    if (choice.allowed != nullptr)
        tools = allowed_of(fields, tools, *choice.allowed);
    if (choice.demands_call && tools.empty())
        fields.refuse(older ? "function_call" : "tool_choice", older ? "needs `functions`" : "needs `tools`");
    if (choice.demanded)
        check_named(fields, older ? "function_call" : "tool_choice", *choice.demanded, tools);
    if (fields.problem() || tools.empty() || !choice.offers_tools)
        return result;
    Json functions = Json::array();
    for (ReadTool& tool : tools) {
        result.offered.push_back(tool.offered);
        functions.push_back(std::move(tool.function));
    }
    conversation.tools = text_of(functions);
    if (choice.demands_call)
        conversation.required_tool = choice.demanded ? name_of(*choice.demanded) : std::string();
    if (older)
        conversation.calls = chat::CallCount::one;
    return result;
}

} // namespace etna::server::openai
