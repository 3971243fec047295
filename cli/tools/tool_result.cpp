#include "cli/tools/tool_result.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Returns how a command failed; empty if it succeeded.
std::string ending(const ShellOutcome& outcome, std::chrono::seconds limit) {
    switch (outcome.end) {
    case ShellEnd::stopped:
        return "the user stopped it";
    case ShellEnd::out_of_time:
        return fmt::format("it was stopped after {} s", limit.count());
    case ShellEnd::exited:
        break;
    }
    return outcome.exit_code == 0 ? std::string() : fmt::format("exit code {}", outcome.exit_code);
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

void show_text(Diagnostics& diagnostics, std::string_view name, std::string_view text) {
    const auto lines = lines_of(text);
    const std::size_t shown = std::min(lines.size(), tool_lines_shown_max);
    for (std::size_t i = 0; i < shown; ++i) {
        if (i == 0) {
            diagnostics.note(fmt::format("{}: {}", name, lines[i]));
        } else {
            diagnostics.line(lines[i]);
        }
    }
    if (shown < lines.size())
        diagnostics.line(fmt::format("({} more lines)", lines.size() - shown));
}

} // namespace

ToolResult tool_result(const Result<ShellOutcome>& outcome, std::chrono::seconds limit) {
    if (!outcome)
        return {.told = "error: " + outcome.error().message, .has_failed = true};
    ToolResult result = {.told = repaired_utf8(outcome->output),
                         .error_output = repaired_utf8(outcome->error_output)};
    if (outcome->is_cut)
        result.told += "\n(more was cut off)";
    const std::string how = ending(*outcome, limit);
    if (how.empty())
        return result;
    result.has_failed = true;
    result.told += result.told.empty() || result.told.ends_with('\n') ? "" : "\n";
    result.told += fmt::format("({})", how);
    if (!result.error_output.empty())
        result.told += "\non standard error it wrote:\n" + result.error_output;
    return result;
}

void tell_result(Diagnostics& diagnostics, const std::string& name, const ToolResult& result,
                 ToolOutput output) {
    const bool shows_told = result.has_failed || output == ToolOutput::shown;
    if (shows_told)
        show_text(diagnostics, name, result.told);
    if (!result.has_failed)
        show_text(diagnostics, shows_told ? name + " (standard error)" : name, result.error_output);
    if (result.bytes_left_out > 0) {
        diagnostics.note(fmt::format("{}: {} bytes of what it gave were cut off: the context has no room for "
                                     "them; --ctx-size makes some",
                                     name, result.bytes_left_out));
    }
}

} // namespace etna::cli
