#include "cli/commands/run_command.hpp"

#include "cli/commands/run_report.hpp"
#include "cli/commands/several_answers.hpp"
#include "cli/commands/turn.hpp"
#include "cli/folders.hpp"
#include "cli/load_model.hpp"
#include "cli/logprobs.hpp"
#include "cli/prompt.hpp"
#include "cli/terminal/conversation_screen.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/log_to_diagnostics.hpp"
#include "cli/terminal/output.hpp"
#include "cli/text_file.hpp"
#include "cli/tools/consent.hpp"
#include "cli/tools/context_room.hpp"
#include "cli/tools/tools.hpp"
#include "core/base/bytes.hpp"
#include "core/generate/generation.hpp"
#include "core/store/resolve.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The inputs that are read before the model is loaded.
struct Asked {
    std::optional<std::string> prompt;
    chat::Conversation conversation; ///< from the file, with the tools from any source
    Tools tools;
};

/// Returns whether a single argument is a prompt without a model: it has several words and names neither a
/// model nor a path.
bool is_prompt(const RunOptions& options, const Error& not_resolved) {
    const std::string& argument = options.model.model;
    const bool may_be_path = argument.ends_with(".gguf") || argument.starts_with('/') ||
                             argument.starts_with('.') || argument.starts_with('~');
    return !options.prompt && not_resolved.kind == ErrorKind::not_found && !may_be_path &&
           argument.find_first_of(" \t\n") != std::string::npos;
}

/// A model without a chat template is a base model: it continues the text.
bool is_conversation(const RunOptions& options, const generate::Model& model) {
    return options.prompt_form == PromptForm::as_message && model.chat().has_own();
}

/// Returns the first given option that applies only to conversations.
std::string_view conversation_option(const RunOptions& options) {
    if (!options.messages_file.empty())
        return "--messages";
    if (!options.generation.tools_file.empty())
        return "--tools";
    return options.generation.system.empty() ? "" : "--system";
}

Result<generate::Request> request_of(const RunOptions& options, const generate::Model& model, Asked asked) {
    const GenerationOptions& generation = options.generation;
    ETNA_TRY(generate::Request request, request_for(generation, model));
    request.prompt_logprobs = options.prompt_logprobs;
    if (!is_conversation(options, model)) {
        if (const auto option = conversation_option(options); !option.empty()) {
            return Error{
                ErrorKind::invalid_argument,
                fmt::format("{} has no chat template, which {} needs", model.name(), option),
                "put its text at the beginning of the prompt, or name a template with --chat-template"};
        }
        request.prompt = std::move(*asked.prompt);
        return request;
    }
    chat::Conversation conversation = std::move(asked.conversation);
    conversation.thinking = generation.thinking;
    auto& messages = conversation.messages;
    if (!generation.system.empty())
        messages.insert(messages.begin(), {.role = chat::Role::system, .content = generation.system});
    if (asked.prompt)
        messages.push_back({.role = chat::Role::user, .content = std::move(*asked.prompt)});
    request.prompt = std::move(conversation);
    return request;
}

/// Shows the answer, or collects it for JSON.
class Receiver : public TurnWatcher {
public:
    Receiver(const RunOptions& options, const Tools& tools, const Environment& environment,
             Diagnostics& diagnostics)
        : diagnostics_(&diagnostics),
          screen_(environment, diagnostics, options.generation.reasoning,
                  options.output_form == OutputForm::text ? ConversationScreen::Content::shown
                                                          : ConversationScreen::Content::hidden),
          consent_(environment, options.generation.tools_consent) {
        consent_.begin_with(tools, NamedBy::user);
    }

    Status prepare(generate::Request& /*request*/) override {
        prompt_.clear(); // the last generation's prompt includes the earlier ones
        return {};
    }

    generate::SinkResult receive(const generate::Event& event) override {
        if (const auto* token = std::get_if<generate::PromptTokenDelta>(&event))
            prompt_.push_back(*token);
        if (const auto* token = std::get_if<generate::TokenDelta>(&event))
            tokens_.push_back(*token);
        if (const auto* delta = std::get_if<generate::TextDelta>(&event))
            text_ += delta->text;
        screen_.show(event);
        return screen_.output().state() == OutputState::open ? generate::SinkResult::proceed
                                                             : generate::SinkResult::stop;
    }

    Leave ask(const output::Call& call, std::string_view command,
              const generate::CancelPoll& is_cancelled) override {
        screen_.end_line();
        return consent_.ask(call, command, is_cancelled, *diagnostics_);
    }

    void tool_answered(const output::Call& call, const ToolResult& result) override {
        screen_.end_line();
        tell_result(*diagnostics_, call.name, result, ToolOutput::hidden);
    }

    /// Ends an unfinished line of text; after an error, call it before its message.
    void finish_line() { screen_.end_line(); }

    [[nodiscard]] Output& output() { return screen_.output(); }
    [[nodiscard]] const std::string& text() const { return text_; } ///< if the prompt is not a conversation
    [[nodiscard]] const std::vector<generate::PromptTokenDelta>& prompt() const { return prompt_; }
    [[nodiscard]] const std::vector<generate::TokenDelta>& tokens() const { return tokens_; }

private:
    Diagnostics* diagnostics_; ///< borrowed
    ConversationScreen screen_;
    ToolConsent consent_;
    std::string text_;
    std::vector<generate::PromptTokenDelta> prompt_; ///< with --prompt-logprobs
    std::vector<generate::TokenDelta> tokens_;       ///< with --logprobs
};

ExitCode exit_code(const Output& output, const generate::Finished& finished, bool has_answer,
                   const EndSignal& end_signal, Diagnostics& diagnostics) {
    if (output.state() == OutputState::failed) {
        diagnostics.error(output.error());
        return ExitCode::failed;
    }
    if (output.state() == OutputState::closed)
        return ExitCode::done;
    if (finished.finish_reason == generate::FinishReason::cancelled)
        return ended_by(end_signal());
    return has_answer ? ExitCode::done : ExitCode::failed;
}

/// Returns whether the text was sampled with a seed that the user did not choose.
bool drew_a_seed(const generate::Model& model, const RunOptions& options) {
    const SamplingOptions& sampling = options.generation.sampling;
    return !sampling.seed && options.generation.max_tokens != 0U &&
           generate::with_overrides(model.sampling_defaults(), sampling.overrides).temperature > 0;
}

bool can_think(const generate::Model& model) {
    const auto format = model.chat().find({});
    return format && (*format)->chat_template.capabilities().can_think;
}

Result<Asked> read_asked(const RunOptions& options, const Environment& environment) {
    constexpr std::size_t messages_bytes_max = 64 * mebibyte;
    ETNA_TRY(const auto input, read_input(environment.input, FinalNewline::dropped));
    Asked asked;
    if (!options.messages_file.empty()) {
        ETNA_TRY(const std::string text, read_text_file(options.messages_file, messages_bytes_max));
        ETNA_TRY(asked.conversation, chat::parse_conversation(text));
        if (!asked.conversation.tools.empty()) {
            ETNA_TRY(asked.tools,
                     Tools::of_conversation(asked.conversation.tools, options.messages_file.string()));
            asked.conversation.tools = asked.tools.definitions();
        }
    }
    std::optional<std::string> file;
    if (!options.prompt_file.empty()) {
        ETNA_TRY(file, read_prompt_file(options.prompt_file));
    }
    asked.prompt = assemble_prompt(assemble_prompt(options.prompt, file), input);
    if (!asked.prompt && asked.conversation.messages.empty())
        return no_prompt(options.model.model);
    if (!options.generation.tools_file.empty()) {
        ETNA_TRY(asked.tools, Tools::read(options.generation.tools_file));
        asked.conversation.tools = asked.tools.definitions();
    }
    return asked;
}

void report(const RunOptions& options, const generate::Model& model, const Turn& turn, Receiver& receiver,
            const Environment& environment, Diagnostics& diagnostics) {
    if (options.output_form == OutputForm::json) {
        // The parser may reclassify text as reasoning, so a conversation's final content differs from the
        // streamed text.
        const std::string& text =
            is_conversation(options, model) ? turn.finished.output.content : receiver.text();
        receiver.output().write(
            json_report(model, {.finished = turn.finished,
                                .text = text,
                                .prompt = options.prompt_logprobs ? &receiver.prompt() : nullptr,
                                .tokens = options.generation.logprobs ? &receiver.tokens() : nullptr}));
    } else {
        receiver.output().write(call_lines(turn.open));
        report_prompt_logprobs(diagnostics, receiver.prompt());
        report_logprobs(diagnostics, receiver.tokens());
    }
    if (options.generation.thinking != chat::Thinking::template_default && !can_think(model))
        diagnostics.note("the model's chat template has no switch for thinking");
    const bool is_watched = receiver.output().state() == OutputState::open && environment.error_is_terminal &&
                            options.output_form == OutputForm::text;
    if (const std::string why = why_incomplete(turn.finished, options.generation.max_tokens);
        is_watched && !why.empty())
        diagnostics.note(fmt::format("{}; the answer is incomplete", why));
    if (options.verbosity == Verbosity::verbose) {
        verbose_report(diagnostics, model, turn.finished);
    } else if (is_watched && drew_a_seed(model, options)) {
        diagnostics.note(fmt::format("--seed {} repeats this", turn.finished.seed));
    }
}

} // namespace

ExitCode run_command(const RunOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const LogToDiagnostics log(diagnostics, options.verbosity);
    const auto fail = [&](const Error& error, ExitCode code) { return diagnostics.error(error), code; };

    // Resolve the model first, so that a mistyped one is not reported as a missing prompt.
    if (const auto source = store::resolve(options.model.model, models_folder(environment.variables));
        !source) {
        return is_prompt(options, source.error()) ? fail(no_model(options.model.model), ExitCode::usage)
                                                  : fail(source.error(), ExitCode::failed);
    }
    auto asked = read_asked(options, environment);
    if (!asked) {
        return fail(asked.error(), asked.error().kind == ErrorKind::io ? ExitCode::failed : ExitCode::usage);
    }
    const auto model = load_model(options.model, environment, diagnostics);
    if (!model)
        return fail(model.error(), ExitCode::failed);
    const Tools tools = std::move(asked->tools);
    auto request = request_of(options, *model, std::move(*asked));
    if (!request)
        return fail(request.error(), ExitCode::failed);
    request->now_unix_s = now_unix_s(environment.variables);
    if (options.answers > 1)
        return give_answers(options, *model, std::move(*request), environment, diagnostics);
    tell_refused(diagnostics, tools);
    Receiver receiver(options, tools, environment, diagnostics);
    const ToolUse use = {.tools = tools,
                         .time_limit = options.generation.tool_time_limit,
                         .answer_tokens = tokens_for_answer(*model, options.generation.max_tokens)};
    const EndSignal end_signal = environment.watch_end_signals();
    const auto turn = take_turn(*model, std::move(*request), use, receiver,
                                environment.watch_interrupts(SecondInterrupt::ends_program));
    receiver.finish_line();
    if (!turn)
        return fail(turn.error(), ExitCode::failed);
    report(options, *model, *turn, receiver, environment, diagnostics);
    const bool has_answer = tell_end(diagnostics, *turn);
    return exit_code(receiver.output(), turn->finished, has_answer, end_signal, diagnostics);
}

} // namespace etna::cli
