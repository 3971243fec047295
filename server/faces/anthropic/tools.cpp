#include "server/faces/anthropic/tools.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::server::anthropic {
namespace {

/// Reads one tool; empty if it is not a client tool.
std::optional<api::Tool> read_tool(Fields& tool, const std::string& path) {
    const std::string type = tool.text("type").value_or("custom");
    if (type != "custom") {
        for (const auto& [name, value] : tool.json().items())
            tool.accept({name});
        tool.adopt_unknown({fmt::format("{} ({})", path, type)});
        return std::nullopt;
    }
    tool.require("name");
    tool.require("input_schema");
    const std::string name = tool.text("name").value_or("");
    const auto description = tool.text("description");
    const Json* const schema = tool.object("input_schema");
    const bool is_strict = tool.flag("strict").value_or(false);
    tool.accept(
        {"cache_control", "defer_loading", "allowed_callers", "input_examples", "eager_input_streaming"});
    if (tool.problem())
        return std::nullopt;
    return api::Tool{.function = api::function_definition(name, description, *schema, is_strict),
                     .offered = {.path = path + ".input_schema"}};
}

bool has_tool(const std::vector<api::Tool>& tools, const std::string& name) {
    return std::any_of(tools.begin(), tools.end(),
                       [&](const api::Tool& tool) { return name_of(tool) == name; });
}

void read_choice(Fields& fields, Tools& tools) {
    const Json* const given = fields.object("tool_choice");
    if (given == nullptr)
        return;
    Fields choice(*given, "tool_choice");
    choice.require("type");
    const auto type = choice.choice("type", {"auto", "any", "tool", "none"});
    tools.has_parallel_calls = !choice.flag("disable_parallel_tool_use").value_or(false);
    tools.choice.requires_call = type == 1U || type == 2U;
    tools.choice.offers_tools = type != 3U;
    if (type == 2U) {
        choice.require("name");
        tools.choice.required = choice.text("name").value_or("");
        if (!choice.problem() && !has_tool(tools.offered, *tools.choice.required))
            choice.refuse("name", fmt::format("is `{}`, which is not among the tools that this server offers",
                                              *tools.choice.required));
    } else if (type == 1U && tools.offered.empty()) {
        choice.refuse("type", "requires `tools`");
    }
    fields.adopt(choice);
}

} // namespace

Tools read_tools(Fields& fields) {
    Tools tools;
    tools.offered = api::read_tool_list(fields, "name", read_tool);
    read_choice(fields, tools);
    return tools;
}

} // namespace etna::server::anthropic
