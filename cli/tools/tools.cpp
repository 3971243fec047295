#include "cli/tools/tools.hpp"

#include "cli/terminal/printable.hpp"
#include "cli/text_io.hpp"
#include "core/base/bytes.hpp"
#include "core/jinja/json_value.hpp"

#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr std::size_t tools_file_bytes_max = 4 * mebibyte;
constexpr std::string_view example =
    R"(use a list such as [{"type": "function", "function": {"name": "now", "description": "Returns the time", )"
    R"("parameters": {"type": "object", "properties": {}}}, "command": "date"}])";

Error invalid_tools(const std::string& name, std::string_view what) {
    return {ErrorKind::invalid_argument, fmt::format("{}: {}", name, what), std::string(example)};
}

/// Removes the text at `key` from `object` and returns it; empty if there is none.
std::string take_text(Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string())
        return {};
    std::string text = found->get<std::string>();
    object.erase(key);
    return text;
}

/// Parses JSON; empty if the text is invalid or nested too deeply for the library to copy and write safely,
/// both of which it does by recursion.
std::optional<Json> parsed_json(const std::string& text) {
    constexpr int depth_max = 200;
    Json json = parse_json(text, depth_max);
    return json.is_discarded() ? std::nullopt : std::optional(std::move(json));
}

Json arguments_of(const output::Call& call) {
    return parsed_json(call.arguments).value_or(Json(call.arguments));
}

} // namespace

Result<Tools> Tools::read(const std::filesystem::path& path) {
    ETNA_TRY(const std::string json, read_text_file(path, tools_file_bytes_max));
    auto document = parsed_json(json);
    if (!document)
        return invalid_tools(path.string(), "not JSON, or nested too deeply");
    if (document->is_object() && document->contains("tools"))
        document = Json((*document)["tools"]);
    ETNA_TRY(Tools tools, of_list(std::move(*document), path.string()));
    std::error_code failure;
    tools.file_ = std::filesystem::absolute(path, failure);
    return tools;
}

Result<Tools> Tools::from_conversation(const std::vector<jinja::Value>& given, const std::string& name) {
    Json list = Json::array();
    for (const jinja::Value& tool : given)
        list.push_back(jinja::json_of_value(tool));
    ETNA_TRY(Tools tools, of_list(std::move(list), name));
    for (auto& [tool, command] : tools.commands_) {
        if (!std::exchange(command, {}).empty())
            tools.ignored_commands_.push_back(tool);
    }
    return tools;
}

Result<Tools> Tools::of_list(Json list, const std::string& name) {
    if (!list.is_array())
        return invalid_tools(name, "not a list of tools");
    Tools tools;
    for (std::size_t i = 0; i < list.size(); ++i) {
        Json& tool = list[i];
        if (!tool.is_object())
            return invalid_tools(name, fmt::format("tool {} is not an object", i + 1));
        std::string command = take_text(tool, "command");
        if (!tool.contains("function"))
            tool = Json::object({{"type", "function"}, {"function", Json(tool)}});
        Json& function = tool["function"];
        const bool has_name = function.is_object() && function.contains("name") &&
                              function["name"].is_string() &&
                              !function["name"].get_ref<const std::string&>().empty();
        if (!has_name)
            return invalid_tools(name, fmt::format("tool {} has no name", i + 1));
        if (command.empty())
            command = take_text(function, "command");
        if (!tools.commands_.emplace(function["name"].get<std::string>(), std::move(command)).second) {
            return invalid_tools(
                name, fmt::format("two tools are named `{}`", function["name"].get<std::string>()));
        }
        tools.definitions_.push_back(jinja::value_of_json(tool));
    }
    return tools;
}

std::string_view Tools::command(std::string_view name) const {
    const auto found = commands_.find(name);
    return found == commands_.end() ? std::string_view() : std::string_view(found->second);
}

void report_ignored_commands(Diagnostics& diagnostics, const Tools& tools) {
    for (const std::string& name : tools.ignored_commands()) {
        diagnostics.note(fmt::format("the conversation's command for {} is ignored: commands come only from "
                                     "a tools file that you name",
                                     backquoted(name)));
    }
}

std::string describe(const output::Call& call) {
    return fmt::format("{} {}", call.name, dump_json(arguments_of(call)));
}

std::string call_json(const output::Call& call) {
    return dump_json({{"name", call.name}, {"arguments", arguments_of(call)}});
}

} // namespace etna::cli
