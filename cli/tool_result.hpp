#pragma once

#include "cli/diagnostics.hpp"
#include "cli/shell.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace etna::cli {

/// What came of a call.
struct ToolResult {
    std::string told;              ///< to the model, UTF-8
    std::string error_output = {}; ///< of the command, UTF-8
    bool has_failed = false;       ///< then `told` has the error output too
};

/// What the model is told of a command's end: its output and, where it failed, how and what it wrote to
/// standard error.
ToolResult tool_result(const Result<ShellOutcome>& outcome, std::chrono::seconds limit);

constexpr std::size_t tool_lines_shown_max = 20;

/// Shows a tool's text to people, line by line: "roll: 6", then lines without the name; of a long one the
/// first tool_lines_shown_max. Nothing for an empty text.
void show_tool_text(Diagnostics& diagnostics, std::string_view name, std::string_view text);

} // namespace etna::cli
