#pragma once

#include "server/api/tools.hpp"
#include "server/fields.hpp"

#include <vector>

namespace etna::server::anthropic {

/// `tools` and `tool_choice` of a request.
struct Tools {
    std::vector<api::Tool> offered = {};
    api::ToolChoice choice = {};
    bool has_parallel_calls = true;
};

/// Reads the client's own tools. Those that run in Anthropic's service, or whose schema only its models know,
/// are left out and reported; a choice that requires one is refused. Errors are recorded in `fields`.
/// Source: Anthropic's API reference, 2023-06-01, "Messages".
Tools read_tools(Fields& fields);

} // namespace etna::server::anthropic
