#include "cli/commands/chat_command.hpp"

#include "cli/chat/commands.hpp"
#include "cli/chat/complete.hpp"
#include "cli/chat/edit_reader.hpp"
#include "cli/chat/message_reader.hpp"
#include "cli/chat/plain_reader.hpp"
#include "cli/chat/session.hpp"
#include "cli/chat/show.hpp"
#include "cli/folders.hpp"
#include "cli/load_model.hpp"
#include "cli/options/option_values.hpp"
#include "cli/prompt.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/log_to_diagnostics.hpp"
#include "core/store/embedded.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

Result<std::unique_ptr<ChatSession>> open_session(const ChatOptions& options, const Environment& environment,
                                                  Diagnostics& diagnostics) {
    const GenerationOptions& generation = options.settings.generation();
    Tools tools;
    if (!generation.tools_file.empty()) {
        ETNA_TRY(tools, Tools::read(generation.tools_file));
    }
    ETNA_TRY(auto model, load_model(options.model, environment, diagnostics));
    ETNA_TRY(const auto* format, model.chat().find({.tools = !tools.is_empty()}));
    if (!model.chat().guessed().empty()) {
        diagnostics.note(fmt::format("{} has no chat template: {} stands in; --chat-template names another",
                                     model.name(), model.chat().guessed()));
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
    if (options.history == History::kept)
        edit.history_file = history_file(environment.variables);
    const int screen = environment.error_is_terminal ? environment.error : environment.output;
    ETNA_TRY(auto reader, EditReader::create(screen, std::move(edit)));
    return std::unique_ptr<LineReader>(std::move(reader));
}

Result<ChatStep> say(ChatState& state, const std::string& text) {
    ETNA_CHECK(state.session.say(text));
    return ChatStep::answered;
}

/// Handles one message or command. Reports errors; the chat continues.
ChatStep take(ChatState& state, const TypedMessage& message, Verbosity verbosity) {
    const bool is_command = message.kind == TypedMessage::Kind::line && is_chat_command(message.text);
    state.diagnostics.set_lines(state.settings.lines()); // /set no-wrap changes it
    const auto step = is_command ? run_chat_command(state, message.text) : say(state, message.text);
    if (!step) {
        if (step.error().kind == ErrorKind::cancelled) {
            state.diagnostics.note(step.error().message);
        } else {
            state.diagnostics.error(step.error());
            state.failed_commands += is_command ? 1 : 0;
        }
        return ChatStep::go_on;
    }
    if (*step == ChatStep::answered && verbosity == Verbosity::verbose)
        state.diagnostics.line(status_line(state.session));
    return *step;
}

ExitCode exit_code(const ChatState& state, int end_signal) {
    if (end_signal != 0)
        return ended_by(end_signal);
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
                 fmt::format("a message is longer than {} MiB: it is left out", input_bytes_max / mebibyte)});
            ++state.failed_commands;
        }
        if (outcome == LineReader::Outcome::line && take(state, message, verbosity) == ChatStep::leave)
            return;
    }
}

} // namespace

Result<ChatOptions> validate_chat(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    const bool is_named = !arguments.positionals.empty() && !arguments.positionals[0].empty();
    ETNA_TRY(auto model,
             read_model(values, is_named ? arguments.positionals[0] : std::string(store::demo_name)));
    ETNA_TRY(auto settings, ChatSettings::create(command, arguments));
    model.executor.sequences_max = settings.generation().search.width();
    ETNA_TRY(const bool forgets, values.flag("no-history"));
    ETNA_TRY(const bool verbose, values.flag("verbose"));
    return ChatOptions{.model = std::move(model),
                       .settings = std::move(settings),
                       .history = forgets ? History::not_kept : History::kept,
                       .verbosity = verbose ? Verbosity::verbose : Verbosity::quiet};
}

ExitCode chat_command(ChatOptions options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    diagnostics.set_lines(options.settings.lines());
    const LogToDiagnostics log(diagnostics, options.verbosity);
    const auto fail = [&](const Error& error) { return diagnostics.error(error), ExitCode::failed; };
    const auto session = open_session(options, environment, diagnostics);
    if (!session)
        return fail(session.error());
    const EndSignal end_signal = environment.watch_end_signals();
    generate::CancelPoll keeps_chat; // Ctrl-C between two answers does not end the conversation
    if (environment.is_interactive())
        keeps_chat = environment.watch_interrupts(SecondInterrupt::is_told);
    const auto reader = open_reader(options, environment, end_signal);
    if (!reader)
        return fail(reader.error());
    if (environment.input_is_terminal) {
        diagnostics.paragraph(fmt::format("{} on {}. /help lists commands, Ctrl-D leaves.",
                                          (*session)->model().name(), (*session)->model().device_name()));
    }
    ChatState state = {.session = **session,
                       .settings = options.settings,
                       .model = options.model,
                       .environment = environment,
                       .diagnostics = diagnostics};
    converse(**reader, state, end_signal, options.verbosity);
    return exit_code(state, end_signal());
}

} // namespace etna::cli
