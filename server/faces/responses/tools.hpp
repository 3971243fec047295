#pragma once

#include "server/api/tools.hpp"
#include "server/base/fields.hpp"
#include "server/base/json.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::server::responses {

/// The client's name of a tool.
struct ToolName {
    std::string name_space = {}; ///< empty: none
    std::string name = {};
    bool is_custom = false; ///< it takes text instead of arguments
};

/// Maps a request's tool names between client and model: the model has no namespaces, so that each namespace
/// member gets a unique name.
class ToolNames {
public:
    /// Adds a tool and returns its model name; empty if the client already has a tool of that name.
    std::optional<std::string> add(ToolName tool);

    /// Returns the client's name for a model name; null if the tool was not offered.
    [[nodiscard]] const ToolName* find(std::string_view model_name) const;

    /// Returns the model name of a tool, offered or not.
    [[nodiscard]] std::string model_name(const std::string& name_space, const std::string& name) const;
    [[nodiscard]] bool has(const std::string& name_space, const std::string& name) const;

    /// Returns the namespaces that have a member of this name.
    [[nodiscard]] std::vector<std::string> namespaces_with(std::string_view name) const;

private:
    std::map<std::string, ToolName, std::less<>> by_model_;
    std::map<std::pair<std::string, std::string>, std::string> by_client_; ///< namespace and name
};

/// Returns whether the schema can be enforced without `strict`: it describes an object, all objects in it are
/// closed with all members required, and it uses only plain keywords. Generators for strict functions produce
/// such schemas.
bool is_closed_schema(const Json& schema);

/// `tools`, `tool_choice` and `parallel_tool_calls` of a request.
struct Tools {
    Json echoed = Json::array();           ///< the tools as repeated in the response
    Json echoed_choice = "auto";           ///< the choice as repeated in the response
    std::vector<api::Tool> functions = {}; ///< as the model sees them
    api::ToolChoice choice = {};           ///< names those
    ToolNames names = {};
    std::vector<std::string> hosted = {}; ///< types of the tools that were left out
    bool has_parallel_calls = true;
};

/// Reads functions, custom tools and namespaces of both: a custom tool becomes a function with one string,
/// `input`, constrained to its grammar; namespace members are flattened. Hosted tools are left out, because
/// clients offer them by default; a choice that requires one is refused. The nested form of chat completions
/// is accepted. Errors are recorded in `fields`. Source: OpenAI API 2.3.0, Tool and ToolChoiceParam.
Tools read_tools(Fields& fields);

/// Returns whether tools of that type cannot be offered to the model: they run in OpenAI's service, have a
/// form of its own, or are newer than this server.
bool is_hosted(std::string_view type);

/// Reads `tool_choice`, after the tools have been read.
void read_tool_choice(Fields& fields, Tools& tools);

} // namespace etna::server::responses
