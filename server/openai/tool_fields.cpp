#include "server/openai/tool_fields.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// What a `tool_choice` leaves of the tools.
struct ToolChoice {
    bool offers_tools = true;
    std::optional<std::string> demanded; ///< a call of this one has to come; empty text: of any
    const Json* allowed = nullptr; ///< only these, {"type": "function", "function": {"name"}}; null: all
};

constexpr std::string_view choices_that_there_are =
    R"(must be "none", "auto", "required", {"type": "function", "function": {"name": ...}} or )"
    R"({"type": "allowed_tools", "allowed_tools": {"mode": "auto" or "required", "tools": [...]}})";

bool is_named_function(const Json& json) {
    return json.is_object() && json.value("type", Json("function")) == "function" &&
           json.contains("function") && json["function"].is_object() && json["function"].contains("name") &&
           json["function"]["name"].is_string();
}

std::string name_of(const Json& tool) {
    return tool["function"]["name"].get<std::string>();
}

void read_allowed(Fields& fields, const Json& given, ToolChoice& choice) {
    Fields allowed(given, "tool_choice.allowed_tools");
    const auto mode = allowed.choice("mode", {"auto", "required"});
    allowed.require("mode");
    allowed.require("tools");
    choice.allowed = allowed.list("tools");
    for (std::size_t i = 0; choice.allowed != nullptr && i < choice.allowed->size(); ++i) {
        if (!is_named_function((*choice.allowed)[i]))
            allowed.refuse(fmt::format("tools[{}]", i),
                           R"(must be {"type": "function", "function": {"name": ...}})");
    }
    if (mode == 1U)
        choice.demanded = std::string();
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
        choice.demanded = std::string();
    } else if (given->is_object() && given->value("type", Json()) == "allowed_tools" &&
               given->contains("allowed_tools") && (*given)["allowed_tools"].is_object()) {
        read_allowed(fields, (*given)["allowed_tools"], choice);
    } else if (is_named_function(*given)) {
        choice.demanded = name_of(*given);
    } else {
        fields.refuse("tool_choice", std::string(choices_that_there_are));
    }
    return choice;
}

void check_tools(Fields& fields, const Json& tools) {
    for (std::size_t i = 0; i < tools.size(); ++i) {
        if (!is_named_function(tools[i]))
            return fields.refuse(
                fmt::format("tools[{}]", i),
                R"(must be {"type": "function", "function": {"name": ..., "parameters": ...}})");
    }
}

bool has(const Json& tools, const std::string& name) {
    return std::any_of(tools.begin(), tools.end(), [&](const Json& tool) { return name_of(tool) == name; });
}

/// Those of the tools that are allowed, in their own order.
Json allowed_of(Fields& fields, const Json& tools, const Json& allowed) {
    for (std::size_t i = 0; i < allowed.size(); ++i) {
        if (!has(tools, name_of(allowed[i])))
            fields.refuse(fmt::format("tool_choice.allowed_tools.tools[{}]", i),
                          fmt::format("names `{}`, which is not among the tools", name_of(allowed[i])));
    }
    Json left = Json::array();
    std::copy_if(tools.begin(), tools.end(), std::back_inserter(left),
                 [&](const Json& tool) { return has(allowed, name_of(tool)); });
    return left;
}

} // namespace

void read_tools(Fields& fields, chat::Conversation& conversation) {
    const Json* given = fields.list("tools");
    if (given != nullptr)
        check_tools(fields, *given);
    ToolChoice choice = read_choice(fields);
    if (fields.problem())
        return;
    Json tools = given == nullptr ? Json::array() : *given;
    if (choice.allowed != nullptr)
        tools = allowed_of(fields, tools, *choice.allowed);
    if (choice.demanded && tools.empty())
        fields.refuse("tool_choice", "needs `tools`");
    if (choice.demanded && !choice.demanded->empty() && !has(tools, *choice.demanded))
        fields.refuse("tool_choice",
                      fmt::format("names `{}`, which is not among the tools", *choice.demanded));
    if (fields.problem() || tools.empty() || !choice.offers_tools)
        return;
    conversation.tools = text_of(tools);
    conversation.demanded_tool = std::move(choice.demanded);
}

} // namespace etna::server::openai
