#include "server/responses/tools.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::responses {
namespace {

/// The tool named by a choice, in the format of either API: some clients send that of chat completions. Empty
/// if it names no tool.
std::optional<ToolName> named_tool(const Json& given) {
    const Json type = given.is_object() ? given.value("type", Json()) : Json();
    if (type != "function" && type != "custom")
        return std::nullopt;
    const Json within = given.value(type.get<std::string>(), Json());
    const Json name = within.is_object() ? within.value("name", Json()) : given.value("name", Json());
    const Json space = given.value("namespace", Json());
    if (!name.is_string() || (!space.is_null() && !space.is_string()))
        return std::nullopt;
    return ToolName{.space = space.is_null() ? std::string() : space.get<std::string>(), .name = name};
}

/// Converts a choice to the chat completion format. A namespace member may be named without its namespace if
/// the name is unique. `place` is the path for errors.
Json chat_choice(Fields& fields, std::string_view place, const ToolName& named, const ToolNames& names) {
    std::string space = named.space;
    if (space.empty() && !names.has(space, named.name)) {
        const auto spaces = names.spaces_with(named.name);
        if (spaces.size() > 1) {
            fields.refuse(place, fmt::format("names `{}`, which is in the namespaces {}: say which by "
                                             "`namespace`",
                                             named.name, fmt::join(spaces, ", ")));
        }
        if (!spaces.empty())
            space = spaces.front();
    }
    return {{"type", "function"}, {"function", {{"name", names.of(space, named.name)}}}};
}

void refuse_hosted(Fields& fields, std::string_view types) {
    fields.refuse(
        "tool_choice",
        fmt::format("demands {}, which nothing here runs; demand a function or a custom tool", types),
        "unsupported_value");
}

void read_allowed(Fields& fields, const Json& given, Tools& tools) {
    Fields allowed(given, "tool_choice");
    allowed.require("tools");
    constexpr std::array<std::string_view, 3> modes = {"auto", "required", "none"};
    const std::string_view mode = modes.at(allowed.choice("mode", {modes.begin(), modes.end()}).value_or(0));
    const Json* const list = allowed.list("tools");
    Json names = Json::array();
    std::vector<std::string> left_out;
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const Json& one = (*list)[i];
        const Json type = one.is_object() ? one.value("type", Json()) : Json();
        const std::string place = fmt::format("tools[{}]", i);
        if (const auto named = named_tool(one)) {
            names.push_back(chat_choice(allowed, place, *named, tools.names));
        } else if (type.is_string() && is_hosted(type.get_ref<const std::string&>())) {
            left_out.push_back(type);
        } else {
            allowed.refuse(place, R"(must be {"type": "function", "name": ...})");
        }
    }
    if (allowed.problem())
        return fields.adopt(*allowed.problem());
    if (mode == "required" && names.empty() && !left_out.empty())
        return refuse_hosted(fields, fmt::format("{}", fmt::join(left_out, ", ")));
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

} // namespace

void read_tool_choice(Fields& fields, Tools& tools) {
    const Json* const given = fields.any("tool_choice");
    if (given == nullptr)
        return;
    tools.told_choice = *given;
    if (given->is_string()) {
        const auto choice = fields.choice("tool_choice", {"none", "auto", "required"});
        if (choice == 2U && tools.chat["tools"].empty() && !tools.left_out.empty())
            return refuse_hosted(fields, fmt::format("one of {}", fmt::join(tools.left_out, ", ")));
        if (choice)
            tools.chat["tool_choice"] = *given;
        return;
    }
    const Json type = given->is_object() ? given->value("type", Json()) : Json();
    if (type == "allowed_tools")
        return read_allowed(fields, *given, tools);
    if (type.is_string() && is_hosted(type.get_ref<const std::string&>()))
        return refuse_hosted(fields, type.get_ref<const std::string&>());
    if (const auto named = named_tool(*given)) {
        tools.chat["tool_choice"] = chat_choice(fields, "tool_choice", *named, tools.names);
        if (!given->contains("name")) // in the chat completion format, which clients of this API do not read
            tools.told_choice = {{"type", type}, {"name", named->name}};
        return;
    }
    fields.refuse("tool_choice",
                  R"(must be "none", "auto", "required", {"type": "function" or "custom", "name": ...} or )"
                  R"({"type": "allowed_tools", "mode": ..., "tools": [...]})");
}

} // namespace etna::server::responses
