#include "cli/chat/commands.hpp"

#include "cli/chat/saved.hpp"
#include "cli/chat/show.hpp"
#include "cli/folders.hpp"
#include "cli/load_model.hpp"
#include "cli/terminal/printable.hpp"
#include "cli/terminal/quote.hpp"
#include "cli/text_file.hpp"
#include "core/base/bytes.hpp"
#include "core/base/utf8.hpp"
#include "core/store/near_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

constexpr std::size_t file_bytes_max = 16 * mebibyte;

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
    help_row(state.diagnostics, "Ctrl-C", "stops an answer, or throws away what was typed");
    return ChatStep::go_on;
}

Result<ChatStep> set(ChatState& state, const std::string& argument) {
    if (argument.empty()) {
        const auto settings = state.settings.entries();
        for (const Setting& setting : settings)
            state.diagnostics.line(fmt::format("{} {}", setting.name, setting.value));
        if (settings.empty())
            state.diagnostics.note("nothing is set; /set NAME VALUE sets an option, as in /set temp 0.5");
        return ChatStep::go_on;
    }
    const std::size_t space = argument.find(' ');
    const std::string value =
        space == std::string::npos ? "" : argument.substr(argument.find_first_not_of(' ', space));
    ETNA_CHECK(state.settings.set(argument.substr(0, space), value));
    return ChatStep::go_on;
}

Result<ChatStep> show(ChatState& state, const std::string& argument) {
    ETNA_TRY(const auto lines, lines_of(argument, state));
    for (const std::string& line : lines)
        state.diagnostics.line(line);
    return ChatStep::go_on;
}

Result<ChatStep> system(ChatState& state, const std::string& argument) {
    state.session.set_system(argument);
    state.diagnostics.note(argument.empty() ? "there is no system message now" : "the system message is set");
    return ChatStep::go_on;
}

Result<ChatStep> clear(ChatState& state, const std::string& /*argument*/) {
    state.session.clear();
    state.diagnostics.note("the conversation is empty");
    return ChatStep::go_on;
}

Result<ChatStep> undo(ChatState& state, const std::string& /*argument*/) {
    const auto taken = state.session.undo();
    if (!taken)
        return Error{ErrorKind::invalid_argument, "there is nothing to take back"};
    state.diagnostics.note(fmt::format("taken back: {}", backquoted(*taken)));
    return ChatStep::go_on;
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
    const auto is_cancelled = environment.watch_interrupts(SecondInterrupt::is_told);
    const TerminalAnswer answer =
        environment.ask_at_terminal
            ? environment.ask_at_terminal(fmt::format("create folder {}? [y]es, [N]o: ", printable(name)),
                                          is_cancelled)
            : TerminalAnswer();
    if (answer.kind == TerminalAnswer::Kind::nobody) {
        return Error{ErrorKind::not_found, fmt::format("folder {} does not exist", name),
                     fmt::format("create it with `mkdir -p {}`", shell_quoted(name))};
    }
    if (answer.kind == TerminalAnswer::Kind::line && (answer.line == "y" || answer.line == "yes"))
        return {};
    return Error{ErrorKind::cancelled, fmt::format("not saved; folder {} does not exist", name)};
}

Result<ChatStep> save(ChatState& state, const std::string& argument) {
    const std::filesystem::path path = expand_home(argument, state.environment.variables);
    ETNA_CHECK(allow_folder(path.parent_path(), state.environment));
    ETNA_CHECK(write_text_file(path, saved_json(state.session, state.settings)));
    state.diagnostics.note(fmt::format("saved to {}", path.string()));
    return ChatStep::go_on;
}

/// Returns the saved tools, with their commands if their tools file still exists. Commands inside the
/// conversation are ignored, because it may be from another user.
Result<Tools> saved_tools(const Saved& saved, const std::string& path, Diagnostics& diagnostics) {
    if (!saved.tools_file.empty()) {
        auto tools = Tools::read(saved.tools_file);
        if (tools)
            return tools;
        diagnostics.note(fmt::format("{}: the tools are offered without commands", tools.error().message));
    }
    ETNA_TRY(auto tools, Tools::of_conversation(saved.conversation.tools, path));
    tell_refused(diagnostics, tools);
    return tools;
}

/// Lists the commands for the user, because the author of the conversation chose them.
void tell_tools(Diagnostics& diagnostics, const Tools& tools) {
    if (tools.file().empty())
        return;
    diagnostics.note(fmt::format("it brings the tools of {}, whose commands run only after you agree:",
                                 tools.file().string()));
    for (const std::string& line : tool_lines(tools))
        diagnostics.line(line);
}

Status take_saved(ChatState& state, const std::string& text, const std::string& path) {
    ETNA_TRY(Saved saved, parse_saved(text));
    std::optional<Tools> tools; // empty: keep the current tools
    if (!saved.conversation.tools.empty()) {
        ETNA_TRY(tools, saved_tools(saved, path, state.diagnostics));
    }
    ETNA_CHECK(state.settings.restore(saved.settings));
    if (tools) {
        tell_tools(state.diagnostics, *tools);
        state.session.set_tools(std::move(*tools), NamedBy::conversation);
    }
    state.session.set_conversation(std::move(saved.conversation));
    return {};
}

Result<ChatStep> load(ChatState& state, const std::string& argument) {
    const std::string path = expand_home(argument, state.environment.variables);
    ETNA_TRY(const std::string text, read_text_file(path, file_bytes_max));
    if (const Status status = take_saved(state, text, path); !status)
        return status.error().while_doing(fmt::format("loading {}", path));
    state.diagnostics.note(fmt::format("{} has {} messages of yours", path, state.session.turns()));
    return ChatStep::go_on;
}

Result<ChatStep> file(ChatState& state, const std::string& argument) {
    const std::string path = expand_home(argument, state.environment.variables);
    ETNA_TRY(const std::string content, read_text_file(path, file_bytes_max));
    const std::string text = repaired_utf8(content);
    const std::string name = std::filesystem::path(path).filename().string();
    const Status status = state.session.attach(
        fmt::format("{}:\n```\n{}{}```\n\n", name, text, text.ends_with('\n') ? "" : "\n"));
    if (!status)
        return status.error().while_doing(fmt::format("attaching {}", name));
    state.diagnostics.note(fmt::format("{} ({} bytes) goes with your next message", name, content.size()));
    return ChatStep::go_on;
}

Result<ChatStep> model(ChatState& state, const std::string& argument) {
    ModelOptions options = state.model;
    options.model = expand_home(argument, state.environment.variables);
    ETNA_TRY(auto loaded, load_model(options, state.environment, state.diagnostics));
    if (const auto format = loaded.chat().find({}); !format)
        return format.error();
    state.session.set_model(std::move(loaded));
    state.model = std::move(options);
    state.diagnostics.note(fmt::format("{} goes on with the conversation", state.session.model().name()));
    return ChatStep::go_on;
}

Result<ChatStep> tools(ChatState& state, const std::string& argument) {
    ETNA_TRY(auto read, Tools::read(expand_home(argument, state.environment.variables)));
    state.diagnostics.note(fmt::format("{} tools are offered", read.commands().size()));
    state.session.set_tools(std::move(read), NamedBy::user);
    return ChatStep::go_on;
}

Result<ChatStep> stats(ChatState& state, const std::string& /*argument*/) {
    for (const std::string& line : statistics_lines(state.session))
        state.diagnostics.line(line);
    return ChatStep::go_on;
}

Result<ChatStep> bye(ChatState& /*state*/, const std::string& /*argument*/) {
    return ChatStep::leave;
}

constexpr std::array all = {
    ChatCommand{"/help", "", "list these commands", help, {"/?"}},
    ChatCommand{"/set", "[NAME VALUE]",
                "change a setting, such as temp or max-tokens, or list those that are set", set},
    ChatCommand{"/show", "[WHAT]", "show the state; or messages, system, tools, template, prompt", show},
    ChatCommand{"/system", "[TEXT]", "set the system message, or take it away", system},
    ChatCommand{"/clear", "", "forget the conversation, but not the system message", clear},
    ChatCommand{"/undo", "", "take the last message and its answer back", undo},
    ChatCommand{"/retry", "", "answer the last message again", retry},
    ChatCommand{"/save", "PATH",
                "write the conversation, its settings and the name of its tools' file, as JSON", save},
    ChatCommand{"/load", "PATH", "go on with a conversation from a file", load},
    ChatCommand{"/file", "PATH", "send a text file along with the next message", file},
    ChatCommand{"/model", "NAME", "go on with another model", model},
    ChatCommand{"/tools", "FILE", "offer the tools in a JSON file", tools},
    ChatCommand{"/stats", "", "show tokens, cache and speed", stats},
    ChatCommand{"/bye", "", "leave, as Ctrl-D does", bye, {"/exit", "/quit"}},
};

Error no_such_command(const std::string& name) {
    std::vector<std::string> known;
    known.reserve(all.size());
    for (const ChatCommand& command : all)
        known.emplace_back(command.name);
    const auto near = store::near_names(name, known);
    return {ErrorKind::invalid_argument, fmt::format("there is no command {}", backquoted(name)),
            near.empty() ? "/help lists them; a message may begin with a space and a slash"
                         : fmt::format("did you mean {}?", fmt::join(near, " or "))};
}

} // namespace

std::span<const ChatCommand> chat_commands() {
    return all;
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
    const auto* const found = std::find_if(all.begin(), all.end(), [&](const ChatCommand& each) {
        const auto& others = each.other_names;
        return each.name == name || std::find(others.begin(), others.end(), name) != others.end();
    });
    if (found == all.end())
        return no_such_command(name);
    if (found->argument.empty() && !argument.empty())
        return Error{ErrorKind::invalid_argument, fmt::format("{} takes no argument", name)};
    if (argument.empty() && !found->argument.empty() && found->argument[0] != '[') {
        return Error{ErrorKind::invalid_argument, fmt::format("{} needs an argument", name),
                     fmt::format("{} {}: {}", name, found->argument, found->summary)};
    }
    return found->run(state, argument);
}

} // namespace etna::cli
