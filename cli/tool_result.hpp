#pragma once

#include "cli/diagnostics.hpp"
#include "cli/shell.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace etna::cli {

/// What came of a call.
struct ToolResult {
    std::string told;               ///< to the model, UTF-8
    std::string error_output = {};  ///< of the command, UTF-8
    bool has_failed = false;        ///< then `told` has the error output too
    std::size_t bytes_left_out = 0; ///< of `told`, for which the context had no room
};

/// What the model is told of a command's end: its output and, where it failed, how and what it wrote to
/// standard error.
ToolResult tool_result(const Result<ShellOutcome>& outcome, std::chrono::seconds limit);

constexpr std::size_t tool_lines_shown_max = 20;

/// Whether people see what a tool gave that did as it should; how one failed they always see.
enum class ToolOutput : uint8_t { shown, hidden };

/// Tells people what came of a call to the tool `name`, line by line: "roll: 6", then lines without the name;
/// of a long text the first tool_lines_shown_max. Nothing for an empty text.
void tell_result(Diagnostics& diagnostics, const std::string& name, const ToolResult& result,
                 ToolOutput output);

} // namespace etna::cli
