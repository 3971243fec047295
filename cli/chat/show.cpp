#include "cli/chat/show.hpp"

#include "cli/commands/run_report.hpp"
#include "cli/load_model.hpp"
#include "cli/terminal/quote.hpp"
#include "core/chat/adapt.hpp"

#include <string_view>

#include <fmt/format.h>

namespace etna::cli {
namespace {

std::vector<std::string> split_lines(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

Result<const generate::ChatFormat*> format_of(const ChatSession& session) {
    return session.model().chat().find({.tools = !session.tools().is_empty()});
}

/// Returns the name or the source of the chat template in use.
std::string template_of(const ChatState& state) {
    const std::string& option = state.model.chat_template;
    const generate::ChatFormats& formats = state.session.model().chat();
    switch (formats.origin()) {
    case generate::TemplateOrigin::model:
        break;
    case generate::TemplateOrigin::variant:
        return fmt::format("the model's own, variant {}", option);
    case generate::TemplateOrigin::text:
        return fmt::format("file {}", option);
    case generate::TemplateOrigin::builtin:
        return fmt::format("built-in {}", option);
    case generate::TemplateOrigin::guess:
        return fmt::format("built-in {}; the model has none", formats.guessed());
    }
    return "the model's own";
}

std::vector<std::string> state_lines(const ChatState& state) {
    const ChatSession& session = state.session;
    std::vector<std::string> lines = {
        fmt::format("model       {} on {}", session.model().name(), session.model().device_name()),
        fmt::format("template    {}", template_of(state)),
        fmt::format("messages    {} of yours", session.turns()),
        fmt::format("system      {}", session.system().empty() ? "none" : backquoted(session.system())),
        fmt::format("tools       {}", session.tools().commands().size())};
    for (const Setting& setting : state.settings.entries())
        lines.push_back(fmt::format("set         {} {}", setting.name, setting.value));
    return lines;
}

std::vector<std::string> message_lines(const ChatSession& session) {
    std::vector<std::string> lines;
    for (const chat::Message& message : session.conversation().messages) {
        constexpr std::array<std::string_view, 4> names = {"system", "user", "assistant", "tool"};
        const std::string_view name = names[static_cast<std::size_t>(message.role)];
        for (const std::string& line : split_lines(message.content))
            lines.push_back(fmt::format("{:<9} {}", name, line));
        for (const chat::ToolCall& call : message.tool_calls)
            lines.push_back(fmt::format("{:<9} calls {} {}", name, call.name, call.arguments));
    }
    return lines;
}

Result<std::vector<std::string>> prompt_lines(const ChatState& state) {
    ETNA_TRY(const auto* format, format_of(state.session));
    ETNA_TRY(const auto prompt,
             render_adapted(format->chat_template, request_json(state.session.conversation()),
                            now_unix_s(state.environment.variables)));
    return split_lines(prompt.text);
}

/// Returns the context tokens used up to the end of the last answer.
std::size_t context_used(const generate::Finished& finished) {
    return finished.prompt_tokens + finished.tokens.size();
}

} // namespace

std::vector<std::string> tool_lines(const Tools& tools) {
    std::vector<std::string> lines;
    for (const auto& [name, command] : tools.commands())
        lines.push_back(fmt::format("{:<20} {}", name, command.empty() ? "(no command)" : command));
    return lines;
}

Result<std::vector<std::string>> lines_of(const std::string& what, const ChatState& state) {
    if (what.empty())
        return state_lines(state);
    if (what == "messages")
        return message_lines(state.session);
    if (what == "system")
        return split_lines(state.session.system());
    if (what == "tools")
        return tool_lines(state.session.tools());
    if (what == "prompt")
        return prompt_lines(state);
    if (what == "template") {
        ETNA_TRY(const auto* format, format_of(state.session));
        return split_lines(format->chat_template.text());
    }
    return Error{ErrorKind::invalid_argument, fmt::format("there is no {} to show", backquoted(what)),
                 "/show alone, or with messages, system, tools, template or prompt"};
}

std::vector<std::string> statistics_lines(const ChatSession& session) {
    const ChatStatistics& statistics = session.statistics();
    if (!statistics.last)
        return {"nothing was answered yet"};
    const generate::Finished& last = *statistics.last;
    return {fmt::format("context     {} of {} tokens", context_used(last), session.model().context_tokens()),
            fmt::format("prompt      {} tokens, {} of them cached, {:.2f} s", last.prompt_tokens,
                        last.cached_tokens, last.timings.prompt_ms / 1000),
            fmt::format("answer      {} tokens, {:.1f} tok/s", last.tokens.size(), tokens_per_second(last)),
            fmt::format("in all      {} tokens read, {} cached, {} written", statistics.prompt_tokens,
                        statistics.cached_tokens, statistics.generated_tokens)};
}

std::string status_line(const ChatSession& session) {
    const auto& last = session.statistics().last;
    if (!last)
        return {};
    return fmt::format("{} of {} tokens, {:.1f} tok/s", context_used(*last), session.model().context_tokens(),
                       tokens_per_second(*last));
}

} // namespace etna::cli
