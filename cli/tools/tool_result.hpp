#pragma once

#include "cli/terminal/diagnostics.hpp"
#include "cli/tools/shell.hpp"
#include "core/base/result.hpp"
#include "core/generate/generation.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace etna::cli {

/// The result of a tool call.
struct ToolResult {
    std::string content;            ///< text for the model, UTF-8
    std::string error_output = {};  ///< of the command, UTF-8
    bool has_failed = false;        ///< if true, `content` contains the error output too
    std::size_t bytes_left_out = 0; ///< bytes removed from `content` because the context had no room
};

/// Converts a command's outcome to its text for the model: its output and, if it failed, how, and its
/// standard error.
ToolResult tool_result(const Result<ShellOutcome>& outcome, std::chrono::seconds limit);

constexpr std::size_t tool_lines_shown_max = 20;

/// Whether the user sees the output of tools that succeeded; failures are always shown.
enum class ToolOutput : uint8_t { shown, hidden };

/// Shows the user the result of a call to the tool `name`, line by line: "roll: 6", then lines without the
/// name; only the first tool_lines_shown_max of a long text. Shows nothing for an empty text.
void report_tool_result(Diagnostics& diagnostics, const std::string& name, const ToolResult& result,
                        ToolOutput output);

/// Returns the context tokens reserved for an answer: a quarter of the context, or max_tokens if that is
/// less.
uint32_t tokens_for_answer(const generate::Model& model, std::optional<uint32_t> max_tokens);

struct ResultLimits {
    uint32_t answer_tokens = 0; ///< context tokens reserved for the answer
    std::size_t calls = 1;      ///< outstanding results that share the rest, this one included
};

/// Truncates `text`, the UTF-8 content of the request's last message, if the context has no room for all of
/// it: replaces the middle by a note. A truncated text takes half of its share of the room, so that more
/// calls can follow. Returns the number of bytes removed. Renders and tokenizes the prompt a few times.
/// Errors: those of rendering and tokenizing. Precondition: the prompt is a conversation whose last message
/// has no content.
Result<std::size_t> fit_result(const generate::Model& model, generate::Request request, ResultLimits limits,
                               std::string& text);

} // namespace etna::cli
