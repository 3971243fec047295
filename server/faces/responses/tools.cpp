#include "server/faces/responses/tools.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::responses {
namespace {

/// The naming convention of MCP clients with a flat tool list.
std::string flattened(const std::string& name_space, const std::string& name) {
    return name_space.empty() ? name : name_space + "__" + name;
}

} // namespace

std::optional<std::string> ToolNames::add(ToolName tool) {
    if (has(tool.name_space, tool.name))
        return std::nullopt;
    const std::string preferred = flattened(tool.name_space, tool.name);
    std::string free = preferred;
    for (int number = 2; by_model_.contains(free); ++number)
        free = fmt::format("{}_{}", preferred, number);
    by_client_.emplace(std::pair(tool.name_space, tool.name), free);
    by_model_.emplace(free, std::move(tool));
    return free;
}

const ToolName* ToolNames::find(std::string_view model_name) const {
    const auto found = by_model_.find(model_name);
    return found == by_model_.end() ? nullptr : &found->second;
}

std::string ToolNames::model_name(const std::string& name_space, const std::string& name) const {
    const auto found = by_client_.find({name_space, name});
    return found == by_client_.end() ? flattened(name_space, name) : found->second;
}

bool ToolNames::has(const std::string& name_space, const std::string& name) const {
    return by_client_.contains({name_space, name});
}

std::vector<std::string> ToolNames::namespaces_with(std::string_view name) const {
    std::vector<std::string> namespaces;
    for (const auto& [client, model] : by_client_) {
        if (!client.first.empty() && client.second == name)
            namespaces.push_back(client.first);
    }
    return namespaces;
}

namespace {

constexpr std::array<std::string_view, 7> json_types = {"string", "number", "integer", "boolean",
                                                        "object", "array",  "null"};
/// Keywords that determine a value; a schema without any of them is unconstrained.
constexpr std::array<std::string_view, 5> value_keywords = {"type", "enum", "const", "anyOf", "$ref"};
/// Keywords whose values are skipped here: annotations, and those checked elsewhere.
constexpr std::array<std::string_view, 12> skipped_keywords = {
    "const",   "properties",  "required",    "additionalProperties",
    "$defs",   "definitions", "description", "title",
    "default", "examples",    "$comment",    "$schema"};

bool is_one_of(const auto& all, std::string_view name) {
    return std::find(all.begin(), all.end(), name) != all.end();
}

bool is_type(const Json& type) {
    return type.is_string() && is_one_of(json_types, type.get_ref<const std::string&>());
}

bool is_plain(const Json& schema, const Json& root);

bool are_plain(const Json& schemas, const Json& root) {
    return std::all_of(schemas.begin(), schemas.end(), [&](const Json& one) { return is_plain(one, root); });
}

/// The definitions themselves are checked once, with the root.
bool is_reference(const Json& reference, const Json& root) {
    const std::string text = reference.is_string() ? reference.get<std::string>() : std::string();
    for (const std::string member : {"$defs", "definitions"}) {
        const std::string start = "#/" + member + "/";
        if (text.starts_with(start) && root.contains(member) &&
            root[member].contains(text.substr(start.size())))
            return true;
    }
    return text == "#";
}

bool is_closed_object(const Json& schema, const Json& root) {
    const Json properties = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    if (schema.value("additionalProperties", Json()) != false || !properties.is_object() ||
        !required.is_array())
        return false;
    std::set<std::string> optional;
    for (const auto& [name, property] : properties.items())
        optional.insert(name);
    for (const Json& name : required) {
        if (!name.is_string() || optional.erase(name.get<std::string>()) == 0)
            return false;
    }
    return optional.empty() && are_plain(properties, root);
}

bool is_plain_keyword(std::string_view name, const Json& value, const Json& root) {
    if (name == "type") {
        return value.is_array() ? !value.empty() && std::all_of(value.begin(), value.end(), is_type)
                                : is_type(value);
    }
    if (name == "enum")
        return value.is_array() && !value.empty();
    if (name == "anyOf")
        return value.is_array() && !value.empty() && are_plain(value, root);
    if (name == "$ref")
        return is_reference(value, root);
    if (name == "items")
        return is_plain(value, root);
    if (name == "minimum" || name == "maximum")
        return value.is_number();
    return is_one_of(skipped_keywords, name);
}

bool may_be_object(const Json& schema) {
    const Json type = schema.value("type", Json());
    return type == "object" || schema.contains("properties") || schema.contains("required") ||
           schema.contains("additionalProperties") ||
           (type.is_array() && std::find(type.begin(), type.end(), "object") != type.end());
}

bool is_plain(const Json& schema, const Json& root) {
    if (!schema.is_object())
        return false;
    bool has_value_keyword = false;
    for (const auto& [name, value] : schema.items()) {
        if (!is_plain_keyword(name, value, root))
            return false;
        has_value_keyword = has_value_keyword || is_one_of(value_keywords, name);
    }
    return has_value_keyword && (!may_be_object(schema) || is_closed_object(schema, root));
}

} // namespace

bool is_closed_schema(const Json& schema) {
    if (!schema.is_object() || schema.value("type", Json()) != "object")
        return false;
    for (const char* const member : {"$defs", "definitions"}) {
        const Json definitions = schema.value(member, Json::object());
        if (!definitions.is_object() || !are_plain(definitions, schema))
            return false;
    }
    return is_plain(schema, schema);
}

namespace {

/// The schema of a custom tool's input.
Json input_schema(Fields& tool, api::ExpressionSteps& steps) {
    Json input = {{"type", "string"}};
    const Json* const given = tool.object("format");
    if (given == nullptr)
        return input;
    Fields format(*given, tool.path_of("format"));
    format.require("type");
    const bool is_constrained = format.choice("type", {"text", "grammar"}) == 1U;
    const Json* const nested = format.object("grammar"); // as in chat completions
    if (is_constrained && nested != nullptr) {
        Fields grammar(*nested, format.path_of("grammar"));
        api::read_grammar(grammar, input, steps);
        format.adopt(grammar);
    } else if (is_constrained) {
        api::read_grammar(format, input, steps);
    }
    tool.adopt(format);
    return input;
}

/// Reads the tools of one list, and of the namespaces in it.
class ListReader {
public:
    explicit ListReader(Tools& tools) : tools_(&tools) {}

    void read(Fields& fields) {
        each(fields, [&](Fields& tool, const Json& given, const std::string& path) {
            if (tool.text("type") == "namespace") {
                read_namespace(tool, given);
            } else if (auto echoed = read_tool(tool, given, path, {})) {
                tools_->echoed.push_back(std::move(*echoed));
            }
        });
    }

private:
    template <typename Read>
    static void each(Fields& fields, const Read& read) {
        const Json* const given = fields.list("tools");
        for (std::size_t i = 0; given != nullptr && i < given->size() && !fields.problem(); ++i) {
            const std::string index = fmt::format("tools[{}]", i);
            if (!(*given)[i].is_object())
                return fields.refuse(index, "must be an object", "invalid_type");
            const std::string path = fields.path_of(index);
            Fields tool((*given)[i], path);
            tool.require("type");
            read(tool, (*given)[i], path);
            fields.adopt(tool);
        }
    }

    void read_namespace(Fields& fields, const Json& given) {
        fields.require("name");
        fields.require("tools");
        const std::string name_space = fields.text("name").value_or("");
        const auto description = fields.text("description");
        if (name_space.empty())
            fields.refuse("name", "must not be empty");
        const std::size_t first = tools_->functions.size();
        Json echoed = given;
        echoed["tools"] = Json::array();
        each(fields, [&](Fields& tool, const Json& member, const std::string& path) {
            if (auto member_echoed = read_tool(tool, member, path, name_space))
                echoed["tools"].push_back(std::move(*member_echoed));
        });
        tools_->echoed.push_back(std::move(echoed));
        if (description && !fields.problem() && first < tools_->functions.size())
            describe_namespace(name_space, *description, tools_->functions[first].function["function"]);
    }

    /// Puts a namespace's description into its first function, because models have no namespaces.
    static void describe_namespace(const std::string& name_space, const std::string& description,
                                   Json& function) {
        function["description"] = fmt::format("(About all tools of {}: {})\n{}", name_space, description,
                                              function.value("description", std::string()));
    }

    /// Reads a function or a custom tool and returns it as repeated in the response; empty for other types.
    std::optional<Json> read_tool(Fields& tool, const Json& given, const std::string& path,
                                  const std::string& name_space) {
        const std::string type = tool.text("type").value_or("");
        if (type.empty()) {
            tool.refuse("type", "is empty");
            return std::nullopt;
        }
        if (is_hosted(type) && !name_space.empty()) { // the client runs all of them
            tool.refuse("type", fmt::format("is `{}`; a namespace has functions and custom tools only", type),
                        "unsupported_value");
            return std::nullopt;
        }
        if (is_hosted(type)) {
            tools_->hosted.push_back(type);
            for (const auto& [name, value] : given.items())
                tool.accept({name});
            return std::nullopt;
        }
        const bool is_custom = type == "custom";
        if (given.contains("name") || !given.contains(type) || !given[type].is_object())
            return read_members(tool, given, path, {.name_space = name_space, .is_custom = is_custom});
        const std::string nested = fmt::format("{}.{}", path, type); // as in chat completions
        Fields members(given[type], nested);
        auto echoed =
            read_members(members, given[type], nested, {.name_space = name_space, .is_custom = is_custom});
        tool.accept({type});
        tool.adopt(members);
        return echoed;
    }

    /// Reads the members of a tool. `tool_name`: without the name itself.
    std::optional<Json> read_members(Fields& tool, const Json& given, const std::string& path,
                                     ToolName tool_name) {
        tool.require("name");
        const std::string name = tool.text("name").value_or("");
        const bool is_custom = tool_name.is_custom;
        tool_name.name = name;
        const auto model_name = tools_->names.add(std::move(tool_name));
        if (!model_name) {
            tool.refuse("name", "is already the name of another tool");
            return std::nullopt;
        }
        if (is_custom)
            return read_custom(tool, given, path, *model_name);
        return read_function(tool, name, path, *model_name);
    }

    Json read_function(Fields& tool, const std::string& name, const std::string& path,
                       const std::string& model_name) {
        const auto description = tool.text("description");
        const Json* const parameters = tool.object("parameters");
        const Json schema = parameters == nullptr ? Json() : *parameters;
        const bool is_strict = tool.flag("strict").value_or(is_closed_schema(schema));
        tools_->functions.push_back(
            {.function = api::function_definition(model_name, description, schema, is_strict),
             .offered = {.path = path + ".parameters"}});
        return {{"type", "function"},
                {"name", name},
                {"description", description ? Json(*description) : Json()},
                {"parameters", schema},
                {"strict", is_strict}};
    }

    Json read_custom(Fields& tool, const Json& given, const std::string& path,
                     const std::string& model_name) {
        const auto description = tool.text("description");
        Json echoed = {{"type", "custom"}};
        echoed.update(given);
        echoed.emplace("format", Json{{"type", "text"}});
        const bool is_nested = echoed["format"].is_object() && echoed["format"].contains("grammar");
        tools_->functions.push_back(
            {.function = api::custom_function(model_name, description, input_schema(tool, steps_)),
             .offered = {.path = path + (is_nested ? ".format.grammar.definition" : ".format.definition"),
                         .is_custom = true}});
        if (is_nested && echoed["format"]["grammar"].is_object()) {
            const Json grammar = echoed["format"]["grammar"];
            echoed["format"].erase("grammar");
            echoed["format"].update(grammar);
        }
        return echoed;
    }

    Tools* tools_;
    api::ExpressionSteps steps_;
};

} // namespace

bool is_hosted(std::string_view type) {
    return type != "function" && type != "custom" && type != "namespace" && type != "allowed_tools";
}

Tools read_tools(Fields& fields) {
    Tools tools;
    ListReader(tools).read(fields);
    read_tool_choice(fields, tools);
    tools.has_parallel_calls = fields.flag("parallel_tool_calls").value_or(true);
    return tools;
}

namespace {

/// The tool named by a choice, in the format of either API: some clients send that of chat completions. Empty
/// if it names no tool.
std::optional<ToolName> named_tool(const Json& given) {
    const Json type = given.is_object() ? given.value("type", Json()) : Json();
    if (type != "function" && type != "custom")
        return std::nullopt;
    const Json nested = given.value(type.get<std::string>(), Json());
    const Json name = nested.is_object() ? nested.value("name", Json()) : given.value("name", Json());
    const Json name_space = given.value("namespace", Json());
    if (!name.is_string() || (!name_space.is_null() && !name_space.is_string()))
        return std::nullopt;
    return ToolName{.name_space = name_space.is_null() ? std::string() : name_space.get<std::string>(),
                    .name = name};
}

/// Returns the model's name of a chosen tool. A namespace member may be named without its namespace if the
/// name is unique. `path` is for errors.
std::string chosen_name(Fields& fields, std::string_view path, const ToolName& named, const Tools& tools) {
    const ToolNames& names = tools.names;
    std::string name_space = named.name_space;
    if (name_space.empty() && !names.has(name_space, named.name)) {
        const auto namespaces = names.namespaces_with(named.name);
        if (namespaces.size() > 1) {
            fields.refuse(path, fmt::format("names `{}`, which is in the namespaces {}; select one with "
                                            "`namespace`",
                                            named.name, fmt::join(namespaces, ", ")));
        }
        if (!namespaces.empty())
            name_space = namespaces.front();
    }
    std::string name = names.model_name(name_space, named.name);
    if (std::none_of(tools.functions.begin(), tools.functions.end(),
                     [&](const api::Tool& tool) { return name_of(tool) == name; }))
        fields.refuse(path, fmt::format("names `{}`, which is not among the tools", name));
    return name;
}

void refuse_hosted(Fields& fields, std::string_view types) {
    fields.refuse(
        "tool_choice",
        fmt::format("requires {}, which this server cannot run; require a function or a custom tool", types),
        "unsupported_value");
}

void read_allowed(Fields& fields, const Json& given, Tools& tools) {
    Fields allowed(given, "tool_choice");
    allowed.require("tools");
    constexpr std::array<std::string_view, 3> modes = {"auto", "required", "none"};
    const std::string_view mode = modes.at(allowed.choice("mode", {modes.begin(), modes.end()}).value_or(0));
    const Json* const list = allowed.list("tools");
    std::set<std::string> names;
    std::vector<std::string> hosted;
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const Json& entry = (*list)[i];
        const Json type = entry.is_object() ? entry.value("type", Json()) : Json();
        const std::string path = fmt::format("tools[{}]", i);
        if (const auto named = named_tool(entry)) {
            names.insert(chosen_name(allowed, path, *named, tools));
        } else if (type.is_string() && is_hosted(type.get_ref<const std::string&>())) {
            hosted.push_back(type);
        } else {
            allowed.refuse(path, R"(must be {"type": "function", "name": ...})");
        }
    }
    if (allowed.problem())
        return fields.adopt(*allowed.problem());
    if (mode == "required" && names.empty() && !hosted.empty())
        return refuse_hosted(fields, fmt::format("{}", fmt::join(hosted, ", ")));
    allowed.accept({"type"});
    fields.adopt_unknown(allowed.unknown());
    tools.echoed_choice["mode"] = mode;
    tools.choice.offers_tools = mode != "none";
    tools.choice.requires_call = mode == "required";
    if (tools.choice.requires_call && names.empty())
        fields.refuse("tool_choice", "requires `tools`");
    tools.choice.allowed = std::move(names);
}

} // namespace

void read_tool_choice(Fields& fields, Tools& tools) {
    const Json* const given = fields.any("tool_choice");
    if (given == nullptr)
        return;
    tools.echoed_choice = *given;
    if (given->is_string()) {
        const auto choice = fields.choice("tool_choice", {"none", "auto", "required"});
        if (choice == 2U && tools.functions.empty() && !tools.hosted.empty())
            return refuse_hosted(fields, fmt::format("one of {}", fmt::join(tools.hosted, ", ")));
        tools.choice.offers_tools = choice != 0U;
        tools.choice.requires_call = choice == 2U;
        if (tools.choice.requires_call && tools.functions.empty())
            fields.refuse("tool_choice", "requires `tools`");
        return;
    }
    const Json type = given->is_object() ? given->value("type", Json()) : Json();
    if (type == "allowed_tools")
        return read_allowed(fields, *given, tools);
    if (type.is_string() && is_hosted(type.get_ref<const std::string&>()))
        return refuse_hosted(fields, type.get_ref<const std::string&>());
    if (const auto named = named_tool(*given)) {
        tools.choice.requires_call = true;
        tools.choice.required = chosen_name(fields, "tool_choice", *named, tools);
        if (!given->contains("name")) // in the chat completion format, which clients of this API do not read
            tools.echoed_choice = {{"type", type}, {"name", named->name}};
        return;
    }
    fields.refuse("tool_choice",
                  R"(must be "none", "auto", "required", {"type": "function" or "custom", "name": ...} or )"
                  R"({"type": "allowed_tools", "mode": ..., "tools": [...]})");
}

} // namespace etna::server::responses
