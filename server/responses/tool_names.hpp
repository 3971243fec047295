#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::server::responses {

/// A tool as the client calls it.
struct ToolName {
    std::string space = {}; ///< its namespace; empty: none
    std::string name = {};
    bool is_custom = false; ///< it takes a text instead of arguments
};

/// The names of a request's tools, the client's and the model's: a model knows no namespaces, so that each of
/// their members gets a name that no other tool has.
class ToolNames {
public:
    /// The model's name of one more tool; none where the client has another of that name.
    std::optional<std::string> add(ToolName tool);

    /// What the client calls the tool that the model calls so; null for one that was not offered.
    [[nodiscard]] const ToolName* find(std::string_view model_name) const;

    /// What the model calls a tool, which may be one that is not offered any more.
    [[nodiscard]] std::string of(const std::string& space, const std::string& name) const;
    [[nodiscard]] bool has(const std::string& space, const std::string& name) const;

    /// The namespaces with a member of this name.
    [[nodiscard]] std::vector<std::string> spaces_with(std::string_view name) const;

private:
    std::map<std::string, ToolName, std::less<>> by_model_;
    std::map<std::pair<std::string, std::string>, std::string> by_client_; ///< namespace and name
};

} // namespace etna::server::responses
