#include "server/faces/openai/tool_fields.hpp"

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

/// The schema of the tool's input, and the member that holds its grammar.
struct ToolInput {
    Json schema = {{"type", "string"}};
    std::string grammar_path;
};

ToolInput read_custom_input(Fields& custom, api::ExpressionSteps& steps) {
    ToolInput input = {.grammar_path = custom.path_of("format.grammar.definition")};
    const Json* const given = custom.object("format");
    if (given == nullptr)
        return input;
    Fields format(*given, custom.path_of("format"));
    format.require("type");
    const bool is_constrained = format.choice("type", {"text", "grammar"}) == 1U;
    const bool is_flat = given->contains("definition"); // as in the Responses API
    if (is_constrained && is_flat) {
        input.grammar_path = format.path_of("definition");
        api::read_grammar(format, input.schema, steps);
    } else if (is_constrained) {
        format.require("grammar");
        if (const Json* const nested = format.object("grammar")) {
            Fields grammar(*nested, format.path_of("grammar"));
            api::read_grammar(grammar, input.schema, steps);
            format.adopt(grammar);
        }
    }
    custom.adopt(format);
    return input;
}

} // namespace

api::Tool read_custom_tool(Fields& custom, api::ExpressionSteps& steps) {
    const std::string name = custom.text("name").value_or("");
    const auto description = custom.text("description");
    ToolInput input = read_custom_input(custom, steps);
    return {.function = api::custom_function(name, description, std::move(input.schema)),
            .offered = {.path = std::move(input.grammar_path), .is_custom = true}};
}

bool is_named_custom(const Json& json) {
    return json.is_object() && json.value("type", Json()) == "custom" && json.contains("custom") &&
           json["custom"].is_object() && json["custom"].value("name", Json()).is_string();
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
                                {"arguments", api::custom_arguments(custom["input"].get<std::string>())}};
        }
    }
    return messages;
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
struct GivenChoice {
    bool offers_tools = true;
    bool requires_call = false;
    std::optional<Json> required; ///< the tool that must be called, by type and name; empty: any
    std::optional<Json> allowed;  ///< the allowed tools, by type and name; empty: all
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

/// Whether a tool or a choice has its members next to its type, as in the Responses API.
bool is_flat(const Json& json) {
    if (!has_name(json))
        return false;
    const Json type = json.value("type", Json("function"));
    return (type == "function" || type == "custom") && !json.contains(type.get_ref<const std::string&>());
}

/// Returns a tool or a choice in the form of this API: {"type": "function", "function": {"name": ...}}.
Json nested_form(const Json& json) {
    if (!is_flat(json))
        return json;
    Json members = json;
    const std::string type = json.value("type", "function");
    members.erase("type");
    return {{"type", type}, {type, std::move(members)}};
}

std::string_view type_of(const Json& tool) {
    return is_named_custom(tool) ? "custom" : "function";
}

std::string name_of(const Json& tool) {
    return tool[std::string(type_of(tool))]["name"].get<std::string>();
}

/// `path`: of the object with the members `mode` and `tools`.
void read_allowed(Fields& fields, const Json& given, std::string path, GivenChoice& choice) {
    Fields allowed(given, std::move(path));
    allowed.accept({"type"});
    const auto mode = allowed.choice("mode", {"auto", "required"});
    allowed.require("mode");
    allowed.require("tools");
    const Json* const tools = allowed.list("tools");
    for (std::size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
        Json tool = nested_form((*tools)[i]);
        if (!is_named(tool)) {
            allowed.refuse(fmt::format("tools[{}]", i),
                           R"(must be {"type": "function", "function": {"name": ...}})");
            break;
        }
        if (!choice.allowed)
            choice.allowed = Json::array();
        choice.allowed->push_back(std::move(tool));
    }
    if (tools != nullptr && tools->empty())
        choice.allowed = Json::array();
    if (mode == 1U)
        choice.requires_call = true;
    fields.adopt(allowed);
}

GivenChoice read_choice(Fields& fields) {
    GivenChoice choice;
    const Json* given = fields.any("tool_choice");
    if (given == nullptr || *given == "auto")
        return choice;
    if (*given == "none") {
        choice.offers_tools = false;
    } else if (*given == "required") {
        choice.requires_call = true;
    } else if (given->is_object() && given->value("type", Json()) == "allowed_tools" &&
               given->contains("allowed_tools") && (*given)["allowed_tools"].is_object()) {
        read_allowed(fields, (*given)["allowed_tools"], "tool_choice.allowed_tools", choice);
    } else if (given->is_object() && given->value("type", Json()) == "allowed_tools" &&
               given->contains("tools")) { // as in the Responses API
        read_allowed(fields, *given, "tool_choice", choice);
    } else if (const Json tool = nested_form(*given); is_named(tool)) {
        choice.requires_call = true;
        choice.required = tool;
    } else {
        fields.refuse("tool_choice", std::string(tool_choice_values));
    }
    return choice;
}

/// The type of a tool that is neither a function nor a custom tool; empty for those, and for malformed ones.
std::string other_type(const Json& given) {
    const Json type = given.is_object() ? given.value("type", Json()) : Json();
    const bool is_other = type.is_string() && type != "function" && type != "custom";
    return is_other ? type.get<std::string>() : std::string();
}

/// Reads a function or a custom tool; a nameless function if it is invalid.
api::Tool read_tool(Fields& fields, const Json& given, const std::string& path, api::ExpressionSteps& steps) {
    Json tool = nested_form(given);
    if (!is_named(tool)) {
        fields.refuse(path, R"(must be {"type": "function", "function": {"name": ..., "parameters": ...}} )"
                            R"(or {"type": "custom", "custom": {"name": ..., "format": ...}})");
        return {};
    }
    const std::string type(type_of(tool));
    Fields members(tool[type], is_flat(given) ? path : fmt::format("{}.{}", path, type));
    api::Tool read;
    if (is_named_custom(tool)) {
        read = read_custom_tool(members, steps);
        fields.adopt(members);
        return read;
    }
    members.object("parameters");
    if (members.problem())
        fields.adopt(*members.problem());
    read.offered = {.path = members.path_of("parameters")};
    read.function = std::move(tool);
    return read;
}

/// Tools of other types are left out and reported: they run in other servers, or are newer than this one.
std::vector<api::Tool> read_list(Fields& fields) {
    const Json* const given = fields.list("tools");
    std::vector<api::Tool> tools;
    std::set<std::string> names;
    api::ExpressionSteps steps;
    for (std::size_t i = 0; given != nullptr && i < given->size() && !fields.problem(); ++i) {
        const Json& one = (*given)[i];
        if (const std::string type = other_type(one); !type.empty()) {
            fields.adopt_unknown({"tools." + type});
            continue;
        }
        const std::string path = fmt::format("tools[{}]", i);
        tools.push_back(read_tool(fields, one, path, steps));
        if (!fields.problem() && !names.insert(name_of(tools.back().function)).second) {
            const std::string members = is_flat(one) ? path : fmt::format("{}.{}", path, type_of(one));
            fields.refuse(members + ".name", "is already the name of another tool");
        }
    }
    return tools;
}

/// The same for the deprecated fields.
std::vector<api::Tool> legacy_list(const LegacyFunctions& legacy) {
    std::vector<api::Tool> tools;
    for (const Json& function : legacy.tools)
        tools.push_back({.function = function,
                         .offered = {.path = fmt::format("functions[{}].parameters", tools.size())}});
    return tools;
}

GivenChoice legacy_choice(const LegacyFunctions& legacy) {
    GivenChoice choice;
    choice.offers_tools = legacy.choice != "none";
    choice.requires_call = legacy.choice.is_object();
    if (choice.requires_call)
        choice.required = legacy.choice;
    return choice;
}

/// Refuses a name that matches none of the tools.
void check_named(Fields& fields, const std::string& path, const Json& named,
                 const std::vector<api::Tool>& tools) {
    const std::string name = name_of(named);
    const auto found = std::find_if(tools.begin(), tools.end(),
                                    [&](const api::Tool& tool) { return name_of(tool.function) == name; });
    if (found == tools.end()) {
        fields.refuse(path, fmt::format("names `{}`, which is not among the tools", name));
    } else if (found->offered.is_custom != is_named_custom(named)) {
        const std::string_view type = found->offered.is_custom ? "custom" : "function";
        fields.refuse(path,
                      fmt::format("names `{}` as a {} tool; it is a {} tool", name, type_of(named), type));
    }
}

/// The names of the allowed tools.
std::set<std::string> allowed_names(Fields& fields, const std::vector<api::Tool>& tools,
                                    const Json& allowed) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < allowed.size(); ++i) {
        check_named(fields, fmt::format("tool_choice.allowed_tools.tools[{}]", i), allowed[i], tools);
        names.insert(name_of(allowed[i]));
    }
    return names;
}

} // namespace

RequestTools read_tools(Fields& fields, chat::Conversation& conversation) {
    RequestTools result;
    const std::optional<LegacyFunctions> legacy = read_legacy_functions(fields);
    result.are_legacy = legacy.has_value();
    std::vector<api::Tool> tools = legacy ? legacy_list(*legacy) : read_list(fields);
    const GivenChoice choice = legacy ? legacy_choice(*legacy) : read_choice(fields);
    if (fields.problem())
        return result;
    for (const api::Tool& tool : tools) {
        if (tool.offered.is_custom)
            result.custom.insert(name_of(tool.function));
    }
    api::ToolChoice effective = {.offers_tools = choice.offers_tools, .requires_call = choice.requires_call};
    if (choice.allowed)
        effective.allowed = allowed_names(fields, tools, *choice.allowed);
    if (choice.requires_call && (effective.allowed ? effective.allowed->empty() : tools.empty()))
        fields.refuse(legacy ? "function_call" : "tool_choice",
                      legacy ? "requires `functions`" : "requires `tools`");
    if (choice.required) {
        check_named(fields, legacy ? "function_call" : "tool_choice", *choice.required, tools);
        effective.required = name_of(*choice.required);
    }
    if (fields.problem())
        return result;
    result.offered = api::offer_tools(std::move(tools), effective, conversation);
    if (legacy && !result.offered.empty())
        conversation.calls = chat::CallCount::one;
    return result;
}

} // namespace etna::server::openai
