#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::server::responses {

/// The client's name of a tool.
struct ToolName {
    std::string space = {}; ///< its namespace; empty: none
    std::string name = {};
    bool is_custom = false; ///< it takes text instead of arguments
};

/// Maps a request's tool names between client and model: the model has no namespaces, so that each namespace
/// member gets a unique name.
class ToolNames {
public:
    /// Adds a tool and returns its model name; empty if the client already has a tool of that name.
    std::optional<std::string> add(ToolName tool);

    /// The client's name for a model name; null if the tool was not offered.
    [[nodiscard]] const ToolName* find(std::string_view model_name) const;

    /// The model name of a tool, which may no longer be offered.
    [[nodiscard]] std::string of(const std::string& space, const std::string& name) const;
    [[nodiscard]] bool has(const std::string& space, const std::string& name) const;

    /// The namespaces that have a member of this name.
    [[nodiscard]] std::vector<std::string> spaces_with(std::string_view name) const;

private:
    std::map<std::string, ToolName, std::less<>> by_model_;
    std::map<std::pair<std::string, std::string>, std::string> by_client_; ///< namespace and name
};

} // namespace etna::server::responses
