#include "cli/tools/tool_result.hpp"

#include "cli/text_io.hpp"
#include "core/base/utf8.hpp"

#include <algorithm>
#include <string_view>

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

void show_text(Diagnostics& diagnostics, std::string_view name, std::string_view text) {
    const auto lines = split_lines(text);
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

constexpr uint32_t answer_divisor = 4;

/// Returns the start of the character that contains the byte at `position`.
std::size_t character_at(std::string_view text, std::size_t position) {
    while (position > 0 && position < text.size() &&
           (static_cast<unsigned char>(text[position]) & 0xc0U) == 0x80U)
        --position;
    return position;
}

/// Returns about `bytes` of the text, three quarters from its start and the rest from its end.
std::string without_middle(std::string_view text, std::size_t bytes) {
    const std::size_t head = character_at(text, bytes - bytes / 4);
    const std::size_t tail = character_at(text, text.size() - bytes / 4);
    return fmt::format("{}\n({} bytes were cut off here: the context has no room for them)\n{}",
                       text.substr(0, head), tail - head, text.substr(tail));
}

uint32_t difference(uint32_t more, uint32_t less) {
    return more > less ? more - less : 0;
}

} // namespace

ToolResult tool_result(const Result<ShellOutcome>& outcome, std::chrono::seconds limit) {
    if (!outcome)
        return {.content = "error: " + outcome.error().message, .has_failed = true};
    ToolResult result = {.content = repaired_utf8(outcome->output),
                         .error_output = repaired_utf8(outcome->error_output)};
    if (outcome->is_cut)
        result.content += "\n(output truncated)";
    const std::string how = ending(*outcome, limit);
    if (how.empty())
        return result;
    result.has_failed = true;
    result.content += result.content.empty() || result.content.ends_with('\n') ? "" : "\n";
    result.content += fmt::format("({})", how);
    if (!result.error_output.empty())
        result.content += "\nstandard error:\n" + result.error_output;
    return result;
}

void report_tool_result(Diagnostics& diagnostics, const std::string& name, const ToolResult& result,
                        ToolOutput output) {
    const bool shows_content = result.has_failed || output == ToolOutput::shown;
    if (shows_content)
        show_text(diagnostics, name, result.content);
    if (!result.has_failed)
        show_text(diagnostics, shows_content ? name + " (standard error)" : name, result.error_output);
    if (result.bytes_left_out > 0) {
        diagnostics.note(fmt::format(
            "{}: {} bytes of the result were cut off: the context has no room for them; raise --ctx-size",
            name, result.bytes_left_out));
    }
}

uint32_t tokens_for_answer(const generate::Model& model, std::optional<uint32_t> max_tokens) {
    return std::min(model.context_tokens() / answer_divisor, max_tokens.value_or(model.context_tokens()));
}

Result<std::size_t> fit_result(const generate::Model& model, generate::Request request, ResultLimits limits,
                               std::string& text) {
    std::string& content = std::get<chat::Conversation>(request.prompt).messages.back().content;
    ETNA_TRY(const uint32_t base_tokens, count_prompt_tokens(model, request));
    const uint32_t room = difference(difference(model.context_tokens(), limits.answer_tokens), base_tokens);
    const auto share = room / static_cast<uint32_t>(std::max<std::size_t>(1, limits.calls));
    content = text;
    ETNA_TRY(uint32_t tokens, count_prompt_tokens(model, request));
    if (difference(tokens, base_tokens) <= share)
        return std::size_t{0};
    const uint32_t target = share / 2;
    std::size_t bytes = text.size();
    while (bytes > 0 && difference(tokens, base_tokens) > target) {
        // Assumes a constant number of tokens per byte, but always removes at least an eighth.
        bytes = std::min(bytes * target / (tokens - base_tokens), bytes - (bytes + 7) / 8);
        content = without_middle(text, bytes);
        ETNA_TRY(tokens, count_prompt_tokens(model, request));
    }
    const std::size_t left_out = text.size() - bytes;
    text = content;
    return left_out;
}

} // namespace etna::cli
