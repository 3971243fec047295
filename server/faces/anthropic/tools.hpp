#pragma once

#include "server/api/tools.hpp"
#include "server/base/fields.hpp"

#include <vector>

namespace etna::server::anthropic {

/// `tools` and `tool_choice` of a request.
struct Tools {
    std::vector<api::Tool> offered = {};
    api::ToolChoice choice = {};
    bool has_parallel_calls = true;
};

/// Reads the client tools. Tools that run on Anthropic's servers, or whose schema is built into its models,
/// are omitted and reported; a choice that requires one of them is refused. Errors are recorded in `fields`.
/// Source: Anthropic's API reference, 2023-06-01, "Messages".
Tools read_tools(Fields& fields);

} // namespace etna::server::anthropic
