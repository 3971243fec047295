#include "cli/chat/commands.hpp"
#include "cli/chat/edit_reader.hpp"
#include "cli/chat/line_reader.hpp"
#include "cli/chat/session.hpp"
#include "cli/chat/settings.hpp"
#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/load_model.hpp"
#include "cli/options/compat.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/terminal_echo.hpp"
#include "cli/text_io.hpp"
#include "core/store/embedded.hpp"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

enum class History { saved, off };

/// The validated command line of `etna chat`.
struct ChatOptions {
    ModelOptions model;
    ChatSettings settings;
    History history = History::saved;
    Verbosity verbosity = Verbosity::quiet;
};

constexpr std::array chat_positionals = {
    Positional{.name = "MODEL",
               .description = "as for `etna run`; `demo` by default",
               .brief = "demo (built in), a .gguf file, or a stored model's name",
               .presence = Presence::optional,
               .completion = Completion::models},
};

/// A conversation continues with one answer and is read by a person, so --n, --json and --prompt-logprobs
/// exist only for `etna run`.
constexpr std::array chat_length_options = {max_tokens_option(1, "stop after N tokens")};

constexpr std::array chat_terminal_rows = {
    Option{.name = "logprobs",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, generate::logprobs_max},
           .description = "print each token's log-probability on standard error after each answer, with the "
                          "N likeliest tokens; before any penalty or filter"},
    Option{.name = "no-history",
           .description = "do not save typed lines to $XDG_STATE_HOME/etna/history",
           .brief = "do not save typed lines"},
    Option{.name = "no-wrap",
           .description = "let the terminal break lines; otherwise lines break between words, except in code "
                          "between three backquotes",
           .brief = "let the terminal break lines"},
    Option{.name = "verbose",
           .short_name = 'v',
           .description = "print context use and speed on standard error after each answer",
           .brief = "print context use and speed after each answer"},
    help_option,
    help_all_option,
};

constexpr auto chat_terminal_options = in_category(Category::output, chat_terminal_rows);

constexpr std::array chat_examples = {
    Example{"etna chat", "chat with the built-in model"},
    Example{"etna chat ./model.gguf --system \"Answer in one sentence.\"", "with a system message"},
    Example{"etna chat ./model.gguf --tools tools.json", "with tools, each run after you agree"},
    Example{"printf 'hi\\nhow are you\\n' | etna chat", "every line is a message"},
};

constexpr auto all_compat_chat =
    joined(compat_model, compat_device, compat_answer, compat_terminal, compat_chat);

Result<std::unique_ptr<ChatSession>> open_session(const ChatOptions& options, const Environment& environment,
                                                  Diagnostics& diagnostics) {
    const GenerationOptions& generation = options.settings.generation();
    Tools tools;
    if (!generation.tools_file.empty()) {
        ETNA_TRY(tools, Tools::read(generation.tools_file));
    }
    ETNA_TRY(auto model, load_model(options.model, environment, diagnostics));
    ETNA_CHECK(check_can_chat(model));
    ETNA_TRY(const auto* format, model.file().chat.find({.tools = !tools.is_empty()}));
    if (!model.file().chat.guessed().empty()) {
        diagnostics.note(fmt::format("{} has no chat template: using {}; --chat-template selects another",
                                     model.file().name, model.file().chat.guessed()));
    }
    if (generation.thinking != chat::Thinking::template_default &&
        !format->chat_template.capabilities().can_think)
        diagnostics.note("the model's chat template has no switch for thinking");
    return std::make_unique<ChatSession>(std::move(model), options.settings, std::move(tools), environment,
                                         diagnostics);
}

/// Opens a line editor at a terminal, otherwise a plain reader.
Result<std::unique_ptr<LineReader>> open_reader(const ChatOptions& options, const Environment& environment,
                                                const EndSignal& end_signal) {
    if (!environment.is_interactive())
        return std::unique_ptr<LineReader>(std::make_unique<PlainReader>(environment.input, end_signal));
    EditOptions edit = {
        .complete = [&](std::string_view line) { return complete_chat_line(line, environment.variables); },
        .end_signal = end_signal};
    if (options.history == History::saved)
        edit.history_file = history_file(environment.variables);
    const int screen = environment.error_is_terminal ? environment.error : environment.output;
    ETNA_TRY(auto reader, EditReader::create(screen, std::move(edit)));
    return std::unique_ptr<LineReader>(std::move(reader));
}

Result<ChatStep> send_message(ChatState& state, const std::string& text) {
    ETNA_CHECK(state.session.send(text));
    return ChatStep::answered;
}

/// Handles one message or command. Reports errors; the chat continues.
ChatStep handle_message(ChatState& state, const TypedMessage& message, Verbosity verbosity) {
    const bool is_command = message.kind == TypedMessage::Kind::line && is_chat_command(message.text);
    state.diagnostics.set_lines(state.settings.lines()); // /set no-wrap changes it
    const auto step = is_command ? run_chat_command(state, message.text) : send_message(state, message.text);
    if (!step) {
        if (step.error().kind == ErrorKind::cancelled) {
            state.diagnostics.note(step.error().message);
        } else {
            state.diagnostics.error(step.error());
            state.failed_commands += is_command ? 1 : 0;
        }
        return ChatStep::proceed;
    }
    if (*step == ChatStep::answered && verbosity == Verbosity::verbose)
        state.diagnostics.line(status_line(state.session));
    return *step;
}

ExitCode exit_code(const ChatState& state, int end_signal) {
    if (end_signal != 0)
        return exit_code_for_signal(end_signal);
    if (state.session.output().state() == OutputState::failed) {
        state.diagnostics.error(state.session.output().error());
        return ExitCode::failed;
    }
    if (state.session.output().state() == OutputState::closed)
        return ExitCode::done;
    // A program at the other end of a pipe does not see messages on the screen.
    const bool has_failed =
        !state.environment.input_is_terminal && state.session.failed_turns() + state.failed_commands > 0;
    return has_failed ? ExitCode::failed : ExitCode::done;
}

void converse(LineReader& reader, ChatState& state, const EndSignal& end_signal, Verbosity verbosity) {
    TypedMessage message;
    while (end_signal() == 0 && state.session.output().state() == OutputState::open) {
        const LineReader::Outcome outcome = read_message(reader, message);
        if (outcome == LineReader::Outcome::end || end_signal() != 0)
            return;
        if (outcome == LineReader::Outcome::too_long) {
            state.diagnostics.error(
                {ErrorKind::invalid_argument,
                 fmt::format("a message is longer than {} MiB and was skipped", input_bytes_max / mebibyte)});
            ++state.failed_commands;
        }
        if (outcome != LineReader::Outcome::line)
            continue;
        const TerminalEcho echo(state.environment.input, Echo::off);
        if (handle_message(state, message, verbosity) == ChatStep::leave)
            return;
    }
}

/// Borrows `command`. Errors: invalid_argument.
Result<ChatOptions> validate_chat(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    const bool is_named = !arguments.positionals.empty() && !arguments.positionals[0].empty();
    ETNA_TRY(auto model,
             read_model(values, is_named ? arguments.positionals[0] : std::string(store::demo_name)));
    ETNA_TRY(auto settings, ChatSettings::create(command, arguments));
    model.executor.sequences_max = settings.generation().search.width();
    ETNA_TRY(const bool is_off, values.flag("no-history"));
    ETNA_TRY(const bool verbose, values.flag("verbose"));
    return ChatOptions{.model = std::move(model),
                       .settings = std::move(settings),
                       .history = is_off ? History::off : History::saved,
                       .verbosity = verbose ? Verbosity::verbose : Verbosity::quiet};
}

/// Runs `etna chat`: a conversation at the terminal or through pipes. Blocking.
ExitCode chat_command(ChatOptions options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    diagnostics.set_lines(options.settings.lines());
    const LogToDiagnostics log(diagnostics, options.verbosity);
    const auto fail = [&](const Error& error) {
        diagnostics.error(error);
        return error.kind == ErrorKind::cancelled ? ExitCode::interrupted : ExitCode::failed;
    };
    const auto session = [&] {
        const TerminalEcho echo(environment.input, Echo::off);
        return open_session(options, environment, diagnostics);
    }();
    if (!session)
        return fail(session.error());
    const EndSignal end_signal = environment.watch_end_signals();
    CancelPoll interrupts_watch; // Ctrl-C between two answers does not end the conversation
    if (environment.is_interactive())
        interrupts_watch = environment.watch_interrupts(SecondInterrupt::is_reported);
    const auto reader = open_reader(options, environment, end_signal);
    if (!reader)
        return fail(reader.error());
    if (environment.input_is_terminal) {
        diagnostics.paragraph(fmt::format("{} on {}. /help lists commands, Ctrl-D leaves.",
                                          (*session)->model().file().name,
                                          (*session)->model().runtime().device_name));
    }
    ChatState state = {.session = **session,
                       .settings = options.settings,
                       .model = options.model,
                       .environment = environment,
                       .diagnostics = diagnostics};
    converse(**reader, state, end_signal, options.verbosity);
    return exit_code(state, end_signal());
}

} // namespace

Command chat_spec() {
    static const std::vector<Option> options =
        joined({chat_length_options, length_options(), structure_options(), prediction_options(),
                conversation_options(), sampling_options(), search_options(), hub_options(), device_options(),
                speculation_options(DraftsBy::command_line), chat_terminal_options});
    return {
        .name = "chat",
        .summary = "hold a conversation with a model",
        .description =
            "Reads a message, writes the model's answer, and repeats this until the end of the input. At a "
            "terminal, lines can be edited and recalled, Tab completes commands, and pasted text stays one "
            "message. Through a pipe, every line is a message and standard output contains only the "
            "answers.\n\n"
            "A message of several lines begins and ends with three double quotes. A line that begins with a "
            "slash is a command of the chat: /help lists them. Ctrl-C stops an answer or a tool and "
            "continues the chat, Ctrl-D leaves. Through a pipe, a failed turn or command is reported, the "
            "next line is read, and the exit code is 1. SIGTERM and SIGHUP stop an answer and end the "
            "chat.\n\n"
            "Tokens that the model has read stay in its cache, so that each turn computes only the new ones. "
            "When the context is full, the oldest turns are dropped first; the system message stays.\n\n"
            "A chat continues with one answer per turn. For several answers (--n), JSON or the "
            "log-probabilities of a prompt, pass a saved chat to `etna run --messages`.\n\n"
            "A tool of --tools with a `command` is run by /bin/sh when the model calls it and you agree. The "
            "arguments are passed as JSON on standard input and as $arg_NAME. The standard output is "
            "returned to the model; if the command fails, its exit code and its standard error too. A result "
            "that the context has no room for is truncated, which is reported to you and to the model. "
            "Ctrl-C or --tool-timeout ends the command and its children with SIGTERM, and with SIGKILL a "
            "second later.\n\n"
            "Commands come only from files named by --tools or /tools, never from a conversation. A saved "
            "chat names its tools file: /load lists the tools and their commands. Earlier consent does not "
            "apply to them, except --yes for files named to this chat. `always` applies to one command of "
            "one tool, until the tools change.",
        .positionals = chat_positionals,
        .options = options,
        .examples = chat_examples,
        .compat = all_compat_chat,
        .run = run_validated<validate_chat, chat_command>};
}

} // namespace etna::cli
