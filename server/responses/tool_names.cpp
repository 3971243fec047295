#include "server/responses/tool_names.hpp"

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

/// The naming convention of MCP clients with a flat tool list.
std::string joined(const std::string& space, const std::string& name) {
    return space.empty() ? name : space + "__" + name;
}

} // namespace

std::optional<std::string> ToolNames::add(ToolName tool) {
    if (has(tool.space, tool.name))
        return std::nullopt;
    const std::string wanted = joined(tool.space, tool.name);
    std::string free = wanted;
    for (int number = 2; by_model_.contains(free); ++number)
        free = fmt::format("{}_{}", wanted, number);
    by_client_.emplace(std::pair(tool.space, tool.name), free);
    by_model_.emplace(free, std::move(tool));
    return free;
}

const ToolName* ToolNames::find(std::string_view model_name) const {
    const auto found = by_model_.find(model_name);
    return found == by_model_.end() ? nullptr : &found->second;
}

std::string ToolNames::of(const std::string& space, const std::string& name) const {
    const auto found = by_client_.find({space, name});
    return found == by_client_.end() ? joined(space, name) : found->second;
}

bool ToolNames::has(const std::string& space, const std::string& name) const {
    return by_client_.contains({space, name});
}

std::vector<std::string> ToolNames::spaces_with(std::string_view name) const {
    std::vector<std::string> spaces;
    for (const auto& [client, model] : by_client_) {
        if (!client.first.empty() && client.second == name)
            spaces.push_back(client.first);
    }
    return spaces;
}

} // namespace etna::server::responses
