#include "cli/chat/commands.hpp"

#include "cli/chat/session.hpp"
#include "cli/commands/answer_report.hpp"
#include "cli/environment.hpp"
#include "cli/load_model.hpp"
#include "cli/terminal/printable.hpp"
#include "cli/text_io.hpp"
#include "core/base/bytes.hpp"
#include "core/base/near_names.hpp"
#include "core/base/utf8.hpp"
#include "core/chat/adapt.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

Result<const generate::ChatFormat*> format_of(const ChatSession& session) {
    return session.model().file().chat.find({.tools = !session.tools().is_empty()});
}

/// Returns the name or the source of the chat template in use.
std::string template_of(const ChatState& state) {
    const std::string& option = state.model.chat_template;
    const generate::ChatFormats& formats = state.session.model().file().chat;
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
        fmt::format("model       {} on {}", session.model().file().name,
                    session.model().runtime().device_name),
        fmt::format("template    {}", template_of(state)),
        fmt::format("messages    {} from the user", session.turns()),
        fmt::format("system      {}", session.system().empty() ? "none" : backquoted(session.system())),
        fmt::format("tools       {}", session.tools().commands().size())};
    for (const Setting& setting : state.settings.entries())
        lines.push_back(fmt::format("set         {} {}", setting.name, setting.value));
    return lines;
}

std::vector<std::string> setting_lines(const ChatState& state) {
    std::vector<std::string> lines;
    for (const Setting& setting : state.settings.entries())
        lines.push_back(fmt::format("{} {}", setting.name, setting.value));
    if (lines.empty())
        lines.emplace_back("nothing is set; the model's own values apply");
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
    ETNA_TRY(const auto prompt, render_adapted(format->chat_template, state.session.conversation(),
                                               now_unix_s(state.environment.variables)));
    return split_lines(prompt.text);
}

/// Returns the context tokens used up to the end of the last answer.
std::size_t context_used(const generate::Finished& finished) {
    return finished.prompt_tokens + finished.tokens.size();
}

/// Returns one line per tool: its name and its command.
std::vector<std::string> tool_lines(const Tools& tools) {
    std::vector<std::string> lines;
    for (const auto& [name, command] : tools.commands())
        lines.push_back(fmt::format("{:<20} {}", name, command.empty() ? "(no command)" : command));
    return lines;
}

/// Returns the output of /show WHAT. Errors: invalid_argument (unknown name), and those of rendering.
Result<std::vector<std::string>> lines_of(const std::string& what, const ChatState& state) {
    if (what.empty() || what == "info") // Ollama's name
        return state_lines(state);
    if (what == "parameters")
        return setting_lines(state);
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
    return invalid_argument(
        fmt::format("/show has no {}", backquoted(what)),
        "use /show alone, or with messages, system, tools, template, prompt or parameters");
}

/// Returns the output of /stats.
std::vector<std::string> statistics_lines(const ChatSession& session) {
    const ChatStatistics& statistics = session.statistics();
    if (!statistics.last)
        return {"there is no answer yet"};
    const generate::Finished& last = *statistics.last;
    return {fmt::format("context     {} of {} tokens", context_used(last), session.model().context_tokens()),
            fmt::format("prompt      {} tokens, {} of them cached, {:.2f} s", last.prompt_tokens,
                        last.cached_tokens, last.timings.prompt_ms / 1000),
            fmt::format("answer      {} tokens, {:.1f} tok/s", last.tokens.size(), tokens_per_second(last)),
            fmt::format("total       {} tokens read, {} cached, {} written", statistics.prompt_tokens,
                        statistics.cached_tokens, statistics.generated_tokens)};
}

constexpr std::size_t attached_file_bytes_max = 16 * mebibyte;

void help_row(Diagnostics& diagnostics, std::string_view name, std::string_view meaning) {
    constexpr uint32_t meaning_column = 19;
    diagnostics.paragraph(fmt::format("{:<{}}{}", name, meaning_column, meaning), meaning_column);
}

Result<ChatStep> help(ChatState& state, const std::string& /*argument*/) {
    for (const ChatCommand& command : chat_commands()) {
        std::string usage = fmt::format("{} {}", command.name, command.argument);
        for (const std::string_view other : command.other_names)
            usage += other.empty() ? "" : fmt::format("{} ", other);
        help_row(state.diagnostics, usage, command.summary);
    }
    help_row(state.diagnostics, "\"\"\"", "begins and ends a message of several lines");
    help_row(state.diagnostics, "Ctrl-C", "stops an answer, or discards the typed text");
    return ChatStep::proceed;
}

Result<ChatStep> system(ChatState& state, const std::string& argument) {
    state.session.set_system(argument);
    state.diagnostics.note(argument.empty() ? "the system message is removed" : "the system message is set");
    return ChatStep::proceed;
}

/// Removes the quotes around a text, as users of Ollama type them.
std::string unquoted(const std::string& text) {
    const bool is_quoted = text.size() > 1 && text.front() == '"' && text.back() == '"';
    return is_quoted ? text.substr(1, text.size() - 2) : text;
}

Result<ChatStep> show_setting(ChatState& state, const std::string& name) {
    if (name == "system") {
        const std::string_view text = state.session.system();
        state.diagnostics.line(text.empty() ? "there is no system message" : text);
        return ChatStep::proceed;
    }
    ETNA_TRY(const auto lines, state.settings.lines_of(name));
    for (const std::string& line : lines)
        state.diagnostics.line(line);
    return ChatStep::proceed;
}

Result<ChatStep> set(ChatState& state, const std::string& typed) {
    constexpr std::string_view ollama_word = "parameter ";
    const std::string argument = typed.starts_with(ollama_word) ? typed.substr(ollama_word.size()) : typed;
    if (argument.empty()) {
        const auto settings = state.settings.entries();
        for (const Setting& setting : settings)
            state.diagnostics.line(fmt::format("{} {}", setting.name, setting.value));
        if (settings.empty())
            state.diagnostics.note("nothing is set; /set NAME VALUE sets an option, as in /set temp 0.5");
        return ChatStep::proceed;
    }
    const std::size_t space = argument.find(' ');
    const std::string value =
        space == std::string::npos ? "" : argument.substr(argument.find_first_not_of(' ', space));
    const std::string name = argument.substr(0, space);
    if (name == "system" && !value.empty())
        return system(state, unquoted(value));
    if (value.empty() && !state.settings.is_switch(name))
        return show_setting(state, name);
    ETNA_CHECK(state.settings.set(name, value));
    return ChatStep::proceed;
}

Result<ChatStep> think(ChatState& state, const std::string& /*argument*/) {
    ETNA_CHECK(state.settings.set("think", ""));
    state.diagnostics.note("the model thinks before its next answers, if its template has a switch for that");
    return ChatStep::proceed;
}

Result<ChatStep> no_think(ChatState& state, const std::string& /*argument*/) {
    ETNA_CHECK(state.settings.set("no-think", ""));
    state.diagnostics.note("the model answers without thinking");
    return ChatStep::proceed;
}

Result<ChatStep> show(ChatState& state, const std::string& argument) {
    ETNA_TRY(const auto lines, lines_of(argument, state));
    for (const std::string& line : lines)
        state.diagnostics.line(line);
    return ChatStep::proceed;
}

Result<ChatStep> clear(ChatState& state, const std::string& /*argument*/) {
    state.session.clear();
    state.diagnostics.note("the conversation is empty");
    return ChatStep::proceed;
}

Result<ChatStep> undo(ChatState& state, const std::string& /*argument*/) {
    const auto taken = state.session.undo();
    if (!taken)
        return invalid_argument("there is no message to undo");
    state.diagnostics.note(fmt::format("removed: {}", backquoted(*taken)));
    return ChatStep::proceed;
}

Result<ChatStep> retry(ChatState& state, const std::string& /*argument*/) {
    ETNA_CHECK(state.session.retry());
    return ChatStep::answered;
}

/// Asks before a folder is created, because its name may be mistyped. Errors: cancelled (refused), not_found
/// (no terminal to ask at).
Status allow_folder(const std::filesystem::path& folder, const Environment& environment) {
    std::error_code failure;
    if (folder.empty() || std::filesystem::exists(folder, failure) || failure)
        return {};
    const std::string name = folder.string();
    const auto is_cancelled = environment.watch_interrupts(SecondInterrupt::is_reported);
    const TerminalAnswer answer =
        environment.ask_at_terminal
            ? environment.ask_at_terminal(fmt::format("create folder {}? [y]es, [N]o: ", printable(name)),
                                          is_cancelled)
            : TerminalAnswer();
    if (answer.kind == TerminalAnswer::Kind::no_terminal) {
        return Error{ErrorKind::not_found, fmt::format("folder {} does not exist", name),
                     fmt::format("create it with `mkdir -p {}`", shell_quoted(name))};
    }
    if (answer.is_yes())
        return {};
    return Error{ErrorKind::cancelled, fmt::format("not saved; folder {} does not exist", name)};
}

Result<ChatStep> save(ChatState& state, const std::string& argument) {
    const std::filesystem::path path = expand_home(argument, state.environment.variables);
    ETNA_CHECK(allow_folder(path.parent_path(), state.environment));
    ETNA_CHECK(write_text_file(path, saved_chat_json(state.session, state.settings)));
    state.diagnostics.note(fmt::format("saved to {}", path.string()));
    return ChatStep::proceed;
}

/// Returns the saved tools, with their commands if their tools file still exists. Commands inside the
/// conversation are ignored, because it may be from another user.
Result<Tools> saved_tools(const SavedChat& saved, const std::string& path, Diagnostics& diagnostics) {
    if (!saved.tools_file.empty()) {
        auto tools = Tools::read(saved.tools_file);
        if (tools)
            return tools;
        diagnostics.note(fmt::format("{}: the tools are offered without commands", tools.error().message));
    }
    ETNA_TRY(auto tools, Tools::from_conversation(saved.conversation.tools, path));
    report_ignored_commands(diagnostics, tools);
    return tools;
}

/// Lists the commands for the user, because the author of the conversation chose them.
void list_tools(Diagnostics& diagnostics, const Tools& tools) {
    if (tools.file().empty())
        return;
    diagnostics.note(
        fmt::format("tools of {}; their commands run only after you agree:", tools.file().string()));
    for (const std::string& line : tool_lines(tools))
        diagnostics.line(line);
}

Status restore_saved_chat(ChatState& state, const std::string& text, const std::string& path) {
    ETNA_TRY(SavedChat saved, parse_saved_chat(text));
    std::optional<Tools> tools; // empty: the current tools stay
    if (!saved.conversation.tools.empty()) {
        ETNA_TRY(tools, saved_tools(saved, path, state.diagnostics));
    }
    ETNA_CHECK(state.settings.restore(saved.settings));
    if (tools) {
        list_tools(state.diagnostics, *tools);
        state.session.set_tools(std::move(*tools), NamedBy::conversation);
    }
    state.session.set_conversation(std::move(saved.conversation));
    return {};
}

Result<ChatStep> load(ChatState& state, const std::string& argument) {
    const std::string path = expand_home(argument, state.environment.variables);
    ETNA_TRY(const std::string text, read_text_file(path, attached_file_bytes_max));
    if (const Status status = restore_saved_chat(state, text, path); !status)
        return status.error().while_doing(fmt::format("loading {}", path));
    state.diagnostics.note(fmt::format("loaded {}: {} user messages", path, state.session.turns()));
    return ChatStep::proceed;
}

Result<ChatStep> file(ChatState& state, const std::string& argument) {
    const std::string path = expand_home(argument, state.environment.variables);
    ETNA_TRY(const std::string content, read_text_file(path, attached_file_bytes_max));
    const std::string text = repaired_utf8(content);
    const std::string name = std::filesystem::path(path).filename().string();
    const Status status = state.session.attach(
        fmt::format("{}:\n```\n{}{}```\n\n", name, text, text.ends_with('\n') ? "" : "\n"));
    if (!status)
        return status.error().while_doing(fmt::format("attaching {}", name));
    state.diagnostics.note(
        fmt::format("{} ({} bytes) is attached to your next message", name, content.size()));
    return ChatStep::proceed;
}

Result<ChatStep> model(ChatState& state, const std::string& argument) {
    ModelOptions options = state.model;
    options.model = expand_home(argument, state.environment.variables);
    ETNA_TRY(auto loaded, load_model(options, state.environment, state.diagnostics));
    ETNA_CHECK(check_can_chat(loaded));
    state.session.set_model(std::move(loaded));
    state.model = std::move(options);
    state.diagnostics.note(fmt::format("{} continues the conversation", state.session.model().file().name));
    return ChatStep::proceed;
}

Result<ChatStep> tools(ChatState& state, const std::string& argument) {
    ETNA_TRY(auto read, Tools::read(expand_home(argument, state.environment.variables)));
    state.diagnostics.note(fmt::format("{} tools are offered", read.commands().size()));
    state.session.set_tools(std::move(read), NamedBy::user);
    return ChatStep::proceed;
}

Result<ChatStep> stats(ChatState& state, const std::string& /*argument*/) {
    for (const std::string& line : statistics_lines(state.session))
        state.diagnostics.line(line);
    return ChatStep::proceed;
}

Result<ChatStep> bye(ChatState& /*state*/, const std::string& /*argument*/) {
    return ChatStep::leave;
}

constexpr std::array all_chat_commands = {
    ChatCommand{"/help", "", "list these commands", help, {"/?"}},
    ChatCommand{"/set", "[NAME VALUE]",
                "change a setting, such as temp or max-tokens; without VALUE, show it", set},
    ChatCommand{"/think", "", "let the model think before its answers", think},
    ChatCommand{"/nothink", "", "let the model answer without thinking", no_think, {"/no_think"}},
    ChatCommand{"/show", "[WHAT]", "show the state; or messages, system, tools, template, prompt, parameters",
                show},
    ChatCommand{"/system", "[TEXT]", "set the system message, or remove it", system},
    ChatCommand{"/clear", "", "clear the conversation, except the system message", clear},
    ChatCommand{"/undo", "", "remove the last message and its answer", undo},
    ChatCommand{"/retry", "", "answer the last message again", retry},
    ChatCommand{"/save", "PATH", "save the conversation, its settings and the path of its tools file as JSON",
                save},
    ChatCommand{"/load", "PATH", "continue a conversation from a file", load},
    ChatCommand{"/file", "PATH", "attach a text file to the next message", file},
    ChatCommand{"/model", "NAME", "continue with another model", model},
    ChatCommand{"/tools", "FILE", "offer the tools in a JSON file", tools},
    ChatCommand{"/stats", "", "show tokens, cache and speed", stats},
    ChatCommand{"/bye", "", "leave, as Ctrl-D does", bye, {"/exit", "/quit"}},
};

Error no_such_command(const std::string& name) {
    std::vector<std::string> known;
    known.reserve(all_chat_commands.size());
    for (const ChatCommand& command : all_chat_commands)
        known.emplace_back(command.name);
    const auto near = near_names(name, known);
    return {ErrorKind::invalid_argument, fmt::format("there is no command {}", backquoted(name)),
            near.empty() ? "/help lists them; to send a message that begins with a slash, type a space first"
                         : fmt::format("did you mean {}?", fmt::join(near, " or "))};
}

bool takes_path(std::string_view name) {
    const auto commands = chat_commands();
    return std::any_of(commands.begin(), commands.end(), [&](const ChatCommand& each) {
        const bool is_path = each.argument == "PATH" || each.argument == "FILE" || each.argument == "NAME";
        return each.name == name && is_path;
    });
}

/// Returns the start of the word that may be a file name. Precondition: the line has a space.
std::size_t file_begin(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (is_chat_command(line) && takes_path(line.substr(0, space)))
        return std::min(line.find_first_not_of(' ', space), line.size());
    return line.find_last_of(" \t\n") + 1;
}

std::vector<std::string> files_like(std::string_view typed, const Variables& variables) {
    const std::size_t name_begin = typed.rfind('/') + 1; // 0 if there is no slash
    const std::string folder(typed.substr(0, name_begin));
    const std::string_view prefix = typed.substr(name_begin);
    std::vector<std::string> words;
    std::error_code failure;
    std::filesystem::directory_iterator entry(folder.empty() ? "." : expand_home(folder, variables), failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
        const std::string name = entry->path().filename().string();
        const bool is_hidden = name.starts_with('.') && prefix.empty();
        const bool can_be_typed = printable(name) == name;
        if (!name.starts_with(prefix) || is_hidden || !can_be_typed)
            continue;
        std::error_code unknown;
        words.push_back(folder + name + (entry->is_directory(unknown) ? "/" : ""));
    }
    std::sort(words.begin(), words.end());
    return words;
}

} // namespace

std::span<const ChatCommand> chat_commands() {
    return all_chat_commands;
}

bool is_chat_command(std::string_view message) {
    if (message == "/?")
        return true;
    return message.size() > 1 && message[0] == '/' &&
           std::isalpha(static_cast<unsigned char>(message[1])) != 0 &&
           message.find('\n') == std::string_view::npos;
}

Result<ChatStep> run_chat_command(ChatState& state, const std::string& message) {
    const std::size_t space = std::min(message.find(' '), message.size());
    const std::string name = message.substr(0, space);
    const std::size_t begin = std::min(message.find_first_not_of(' ', space), message.size());
    const std::size_t end = message.find_last_not_of(" \t") + 1;
    const std::string argument = begin < end ? message.substr(begin, end - begin) : std::string();
    const auto* const found =
        std::find_if(all_chat_commands.begin(), all_chat_commands.end(), [&](const ChatCommand& each) {
            const auto& others = each.other_names;
            return each.name == name || std::find(others.begin(), others.end(), name) != others.end();
        });
    if (found == all_chat_commands.end())
        return no_such_command(name);
    if (found->argument.empty() && !argument.empty())
        return invalid_argument(fmt::format("{} takes no argument", name));
    if (argument.empty() && !found->argument.empty() && found->argument[0] != '[') {
        return invalid_argument(fmt::format("{} needs an argument", name),
                                fmt::format("{} {}: {}", name, found->argument, found->summary));
    }
    return found->run(state, argument);
}

LineCompletion complete_chat_line(std::string_view line, const Variables& variables) {
    LineCompletion completion;
    if (line.find_first_of(" \n") != std::string_view::npos) {
        completion.begin = file_begin(line);
        completion.words = files_like(line.substr(completion.begin), variables);
        return completion;
    }
    for (const ChatCommand& command : chat_commands()) {
        if (command.name.starts_with(line))
            completion.words.emplace_back(command.name);
    }
    return completion;
}

Status check_can_chat(const generate::Model& model) {
    if (model.engine().limits().is_encoder) {
        return Error{
            ErrorKind::unsupported, fmt::format("{} encodes texts and generates none", model.file().name),
            fmt::format("use `etna embed {}`, or name a model that generates text", model.file().name)};
    }
    const auto format = model.file().chat.find({});
    return format ? Status() : format.error();
}

std::string status_line(const ChatSession& session) {
    const auto& last = session.statistics().last;
    if (!last)
        return {};
    return fmt::format("{} of {} tokens, {:.1f} tok/s", context_used(*last), session.model().context_tokens(),
                       tokens_per_second(*last));
}

} // namespace etna::cli
