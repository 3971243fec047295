#pragma once

#include "cli/terminal/diagnostics.hpp"
#include "cli/tools/shell.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace etna::cli {

/// The result of a tool call.
struct ToolResult {
    std::string told;               ///< text for the model, UTF-8
    std::string error_output = {};  ///< of the command, UTF-8
    bool has_failed = false;        ///< if true, `told` contains the error output too
    std::size_t bytes_left_out = 0; ///< bytes removed from `told` because the context had no room
};

/// Converts a command's outcome to its text for the model: its output and, if it failed, how, and its
/// standard error.
ToolResult tool_result(const Result<ShellOutcome>& outcome, std::chrono::seconds limit);

constexpr std::size_t tool_lines_shown_max = 20;

/// Whether the user sees the output of tools that succeeded; failures are always shown.
enum class ToolOutput : uint8_t { shown, hidden };

/// Shows the user the result of a call to the tool `name`, line by line: "roll: 6", then lines without the
/// name; only the first tool_lines_shown_max of a long text. Shows nothing for an empty text.
void tell_result(Diagnostics& diagnostics, const std::string& name, const ToolResult& result,
                 ToolOutput output);

} // namespace etna::cli
