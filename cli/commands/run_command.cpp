#include "cli/commands/run_command.hpp"

#include "cli/commands/answer_report.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/multiple_answers.hpp"
#include "cli/commands/turn.hpp"
#include "cli/environment.hpp"
#include "cli/load_model.hpp"
#include "cli/options/compat.hpp"
#include "cli/options/option_values.hpp"
#include "cli/pull_model.hpp"
#include "cli/terminal/conversation_screen.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "cli/text_io.hpp"
#include "cli/tools/consent.hpp"
#include "cli/tools/tool_result.hpp"
#include "cli/tools/tools.hpp"
#include "core/base/bytes.hpp"
#include "core/generate/generation.hpp"
#include "core/gguf/split.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr double answers_max = 128;

constexpr std::array run_positionals = {
    model_positional,
    Positional{
        .name = "PROMPT",
        .description =
            "the prompt; text from a pipe or a file on standard input is appended after a blank line. A "
            "prompt that begins with a dash goes after `--`, with the options before it",
        .brief = "the prompt; text from a pipe is appended",
        .presence = Presence::optional},
};

constexpr std::array run_length_options = {
    max_tokens_option(0, "stop after N tokens; 0, with --prompt-logprobs, only scores the prompt"),
};

constexpr std::array run_prompt_options = {
    Option{.name = "file",
           .short_name = 'f',
           .value = "FILE",
           .kind = Kind::text,
           .description =
               "read the prompt from FILE, without its final newline; appended to PROMPT after a blank line",
           .brief = "read the prompt from FILE",
           .file = FileUse::input},
    Option{.name = "messages",
           .value = "FILE",
           .kind = Kind::text,
           .description = "continue the conversation in FILE, a chat request as for `etna render`; its tools "
                          "are offered too, and the prompt, if given, is the next message",
           .file = FileUse::input},
    Option{.name = "raw",
           .description = "pass the prompt to the model unchanged, without the chat template",
           .brief = "continue the prompt, without a chat template"},
};

constexpr std::array run_output_rows = {
    Option{.name = "json",
           .description = "write one JSON object at the end instead of text",
           .brief = "write one JSON object at the end instead of text"},
    Option{.name = "logprobs",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, generate::logprobs_max},
           .description =
               "report each token's log-probability and those of the N likeliest tokens; before any penalty "
               "or filter; in JSON as in OpenAI's API, otherwise as lines on standard error after the text"},
    Option{.name = "prompt-logprobs",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, generate::logprobs_max},
           .description = "score the prompt: log-probability and rank of each token, and the N likeliest "
                          "tokens; in JSON as in vLLM's API, otherwise as lines on standard error"},
    Option{.name = "verbose",
           .short_name = 'v',
           .description = "print the device and the timings on standard error",
           .brief = "print the device and the timings on standard error"},
    help_option,
    help_all_option,
};

constexpr auto run_output_options = in_category(Category::output, run_output_rows);

constexpr std::array run_examples = {
    Example{"etna run demo \"What is 34 + 58?\"", "ask the built-in model"},
    Example{"etna run ./model.gguf \"Write a haiku about rain\"", "ask a model in a file"},
    Example{"cat notes.txt | etna run ./model.gguf \"Summarise these notes:\"", "argument, blank line, file"},
    Example{"etna run ./model.gguf \"Why?\" --system \"Answer in one sentence.\"", "with a system message"},
    Example{"etna run ./model.gguf \"A name for a cat?\" --n 5", "five answers"},
    Example{"etna run ./model.gguf \"Who wrote Faust?\" --json-schema author.json",
            "an answer that a program can parse"},
    Example{"etna run ./model.gguf \"Is it raining?\" --choice yes --choice no", "one of two answers"},
    Example{"etna run ./model.gguf --raw -n 32 --temp 0 < prompt.txt",
            "the likeliest continuation, the same in each run"},
    Example{"etna run ./model.gguf --raw -n 0 --prompt-logprobs 0 --json < text.txt",
            "the log-probabilities of a text"},
};

constexpr std::array answers_options = {
    Option{.name = "n",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, answers_max},
           .default_text = "1",
           .description = "give N answers, separated by an empty line; each is written once it is complete; "
                          "with --json, one object per line"},
};

constexpr auto all_compat_run =
    joined(compat_model, compat_device, compat_answer, compat_terminal, compat_run);

/// Joins the texts with a blank line in between; an empty `second` counts as absent. Empty if there is no
/// text: see no_prompt().
std::optional<std::string> assemble_prompt(const std::optional<std::string>& first,
                                           const std::optional<std::string>& second) {
    const bool has_second = second && !second->empty();
    if (first && has_second)
        return *first + "\n\n" + *second;
    return has_second ? second : first;
}

/// Returns "no model given"; the hint is a command that runs `demo` with this prompt.
Error no_model(std::string_view prompt) {
    constexpr std::size_t shown_bytes_max = 200; // a truncated prompt would not be a usable command
    const bool can_be_copied = prompt.size() <= shown_bytes_max && printable(prompt) == prompt;
    return {ErrorKind::invalid_argument, "no model given",
            fmt::format("try `etna run demo {}`, or `etna run --help`",
                        can_be_copied ? shell_quoted(prompt) : "PROMPT")};
}

/// Returns the error for `etna run` with this model and no prompt: invalid_argument.
Error no_prompt(std::string_view model) {
    return {ErrorKind::invalid_argument, "no prompt given",
            fmt::format("give the prompt as an argument, `etna run {0} \"Once upon a time\"`, or through a "
                        "pipe; `etna chat {0}` holds a conversation",
                        model)};
}

/// Refuses options of conversations with a raw prompt.
Status check_raw(const RunOptions& options) {
    const GenerationOptions& generation = options.generation;
    const char* option = nullptr;
    if (!generation.system.empty())
        option = "--system";
    if (!generation.tools_file.empty())
        option = "--tools";
    if (!options.messages_file.empty())
        option = "--messages";
    if (!options.model.chat_template.empty())
        option = "--chat-template";
    if (generation.thinking != chat::Thinking::template_default)
        option = generation.thinking == chat::Thinking::on ? "--think" : "--no-think";
    if (option == nullptr)
        return {};
    return invalid_argument(fmt::format("{} and --raw exclude each other", option),
                            "remove one of them, or write the complete prompt in the model's own format");
}

/// Refuses tools with several answers, and fewer candidates than answers.
Status check_answers(const RunOptions& options) {
    const SearchOptions& search = options.generation.search;
    if (options.answers > 1 && !options.generation.tools_file.empty())
        return invalid_argument("--n and --tools exclude each other", "remove one of them");
    if ((search.beams || search.best_of) && search.width() < options.answers) {
        return invalid_argument(
            fmt::format("{} answers cannot be the best of {}", options.answers, search.width()),
            fmt::format("set {} to at least --n", search.beams ? "--beams" : "--best-of"));
    }
    return {};
}

/// Refuses --max-tokens 0, unless only the prompt's log-probabilities are requested.
Status check_length(const RunOptions& options) {
    if (options.generation.max_tokens != 0U)
        return {};
    if (options.answers > 1)
        return invalid_argument("--max-tokens 0 and --n exclude each other", "remove one of them");
    if (options.prompt_logprobs)
        return {};
    return invalid_argument("--max-tokens 0 gives no answer",
                            "set --max-tokens to at least 1, or add --prompt-logprobs to score the prompt");
}

/// The inputs that are read before the model is loaded.
struct RunInputs {
    std::optional<std::string> prompt;
    chat::Conversation conversation; ///< from the file, with the tools from any source
    Tools tools;
};

/// Returns whether a single argument is a prompt without a model: it has several words and names neither a
/// model nor a path.
bool is_prompt(const RunOptions& options, const Error& not_resolved) {
    const std::string& argument = options.model.model;
    const bool may_be_path = gguf::has_gguf_extension(argument) || argument.starts_with('/') ||
                             argument.starts_with('.') || argument.starts_with('~');
    return !options.prompt && not_resolved.kind == ErrorKind::not_found && !may_be_path &&
           argument.find_first_of(" \t\n") != std::string::npos;
}

/// A model without a chat template is a base model: it continues the text.
bool is_conversation(const RunOptions& options, const generate::Model& model) {
    return options.prompt_form == PromptForm::as_message && model.file().chat.has_own();
}

/// Returns the first given option that applies only to conversations.
std::string_view conversation_option(const RunOptions& options) {
    if (!options.messages_file.empty())
        return "--messages";
    if (!options.generation.tools_file.empty())
        return "--tools";
    return options.generation.system.empty() ? "" : "--system";
}

Result<generate::Request> request_of(const RunOptions& options, const generate::Model& model,
                                     RunInputs inputs) {
    const GenerationOptions& generation = options.generation;
    ETNA_TRY(generate::Request request, request_for(generation, model));
    request.prompt_logprobs = options.prompt_logprobs;
    if (!is_conversation(options, model)) {
        if (const auto option = conversation_option(options); !option.empty()) {
            return invalid_argument(
                fmt::format("{} has no chat template, which {} needs", model.file().name, option),
                "put its text at the start of the prompt, or select a template with --chat-template");
        }
        request.prompt = std::move(*inputs.prompt);
        return request;
    }
    chat::Conversation conversation = std::move(inputs.conversation);
    conversation.thinking = generation.thinking;
    conversation.spelled_tokens = generation.spelled_tokens;
    auto& messages = conversation.messages;
    if (!generation.system.empty())
        messages.insert(messages.begin(), {.role = chat::Role::system, .content = generation.system});
    if (inputs.prompt)
        messages.push_back({.role = chat::Role::user, .content = std::move(*inputs.prompt)});
    request.prompt = std::move(conversation);
    return request;
}

/// Shows the answer, or collects it for JSON.
class AnswerReceiver : public TurnDelegate {
public:
    AnswerReceiver(const RunOptions& options, const Tools& tools, const Environment& environment,
                   Diagnostics& diagnostics)
        : diagnostics_(&diagnostics),
          screen_(environment, diagnostics, options.generation.reasoning,
                  options.output_form == OutputForm::text ? ConversationScreen::Content::shown
                                                          : ConversationScreen::Content::hidden),
          consent_(environment, options.generation.tools_consent) {
        consent_.reset(tools, NamedBy::user);
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

    void on_progress(const AnswerProgress& progress) override { screen_.show_progress(progress); }

    Permission ask(const output::Call& call, std::string_view command,
                   const CancelPoll& is_cancelled) override {
        screen_.end_line();
        return consent_.ask(call, command, is_cancelled, *diagnostics_);
    }

    void on_tool_result(const output::Call& call, const ToolResult& result) override {
        screen_.end_line();
        report_tool_result(*diagnostics_, call.name, result, ToolOutput::hidden);
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
        return exit_code_for_signal(end_signal());
    return has_answer ? ExitCode::done : ExitCode::failed;
}

/// Returns whether the text was sampled with a seed that the user did not choose.
bool used_random_seed(const generate::Model& model, const RunOptions& options) {
    const SamplingOptions& sampling = options.generation.sampling;
    return !sampling.seed && options.generation.max_tokens != 0U &&
           generate::with_overrides(model.defaults().sampling, sampling.overrides).temperature > 0;
}

bool can_think(const generate::Model& model) {
    const auto format = model.file().chat.find({});
    return format && (*format)->chat_template.capabilities().can_think;
}

Result<RunInputs> read_inputs(const RunOptions& options, const Environment& environment) {
    constexpr std::size_t messages_bytes_max = 64 * mebibyte;
    ETNA_TRY(const auto input, read_input(environment.input, FinalNewline::dropped));
    RunInputs inputs;
    if (!options.messages_file.empty()) {
        ETNA_TRY(const std::string text, read_text_file(options.messages_file, messages_bytes_max));
        ETNA_TRY(const jinja::Value request, chat::parse_request(text));
        ETNA_TRY(inputs.conversation, chat::read_conversation(request));
        if (!inputs.conversation.tools.empty()) {
            ETNA_TRY(inputs.tools,
                     Tools::from_conversation(inputs.conversation.tools, options.messages_file.string()));
            inputs.conversation.tools = inputs.tools.definitions();
        }
    }
    std::optional<std::string> file;
    if (!options.prompt_file.empty()) {
        ETNA_TRY(file, read_text_file(options.prompt_file, input_bytes_max));
        drop_newline(*file);
    }
    inputs.prompt = assemble_prompt(assemble_prompt(options.prompt, file), input);
    if (!inputs.prompt && inputs.conversation.messages.empty())
        return no_prompt(options.model.model);
    if (!options.generation.tools_file.empty()) {
        ETNA_TRY(inputs.tools, Tools::read(options.generation.tools_file));
        inputs.conversation.tools = inputs.tools.definitions();
    }
    return inputs;
}

/// Returns whether there is a complete answer.
bool report(const RunOptions& options, const generate::Model& model, const Turn& turn,
            AnswerReceiver& receiver, const Environment& environment, Diagnostics& diagnostics) {
    // The parser may reclassify text as reasoning, so a conversation's final content differs from the
    // streamed text.
    const std::string& text =
        is_conversation(options, model) ? turn.finished.output.content : receiver.text();
    if (options.output_form == OutputForm::json) {
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
    const auto cut_off = cut_off_answer(turn.finished, text, options.generation);
    if (cut_off)
        diagnostics.error(*cut_off);
    if (const std::string why = why_incomplete(turn.finished, options.generation.max_tokens);
        is_watched && !why.empty() && !cut_off)
        diagnostics.note(fmt::format("{}; the answer is incomplete", why));
    if (options.verbosity == Verbosity::verbose) {
        verbose_report(diagnostics, model, turn.finished);
    } else if (is_watched && used_random_seed(model, options)) {
        diagnostics.note(fmt::format("--seed {} repeats this", turn.finished.seed));
    }
    return report_end(diagnostics, turn) && !cut_off;
}

/// Runs `etna run`: reads the prompt, loads the model and streams its answer. Blocking.
ExitCode run_command(const RunOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const LogToDiagnostics log(diagnostics, options.verbosity);
    const auto fail = [&](const Error& error, ExitCode code) { return diagnostics.error(error), code; };

    const auto fail_load = [&](const Error& error) {
        return fail(error, error.kind == ErrorKind::cancelled ? ExitCode::interrupted : ExitCode::failed);
    };

    // Resolve the model first, so that a mistyped one is not reported as a missing prompt.
    if (const auto source = find_model(options.model.model, options.model.hub, environment, diagnostics);
        !source) {
        return is_prompt(options, source.error()) ? fail(no_model(options.model.model), ExitCode::usage)
                                                  : fail_load(source.error());
    }
    auto inputs = read_inputs(options, environment);
    if (!inputs) {
        return fail(inputs.error(),
                    inputs.error().kind == ErrorKind::io ? ExitCode::failed : ExitCode::usage);
    }
    const auto model = load_model(options.model, environment, diagnostics);
    if (!model)
        return fail_load(model.error());
    const Tools tools = std::move(inputs->tools);
    auto request = request_of(options, *model, std::move(*inputs));
    if (!request)
        return fail(request.error(), ExitCode::failed);
    request->now_unix_s = now_unix_s(environment.variables);
    if (options.answers > 1)
        return run_multiple_answers(options, *model, std::move(*request), environment, diagnostics);
    report_ignored_commands(diagnostics, tools);
    AnswerReceiver receiver(options, tools, environment, diagnostics);
    const ToolUse use = {.tools = tools,
                         .time_limit = options.generation.tool_time_limit,
                         .answer_tokens = tokens_for_answer(*model, options.generation.max_tokens)};
    const EndSignal end_signal = environment.watch_end_signals();
    const auto turn = run_turn(*model, std::move(*request), use, receiver,
                               environment.watch_interrupts(SecondInterrupt::ends_program));
    receiver.finish_line();
    if (!turn)
        return fail(turn.error(), ExitCode::failed);
    const bool has_answer = report(options, *model, *turn, receiver, environment, diagnostics);
    return exit_code(receiver.output(), turn->finished, has_answer, end_signal, diagnostics);
}

} // namespace

Result<RunOptions> validate_run(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty() || arguments.positionals[0].empty()) {
        const bool has_prompt = arguments.positionals.size() > 1;
        return no_model(has_prompt ? arguments.positionals[1] : "What is 34 + 58?");
    }
    RunOptions options;
    const OptionValues values(command, arguments);
    ETNA_TRY(options.model, read_model(values, arguments.positionals[0]));
    ETNA_TRY(options.generation, read_generation(values));
    ETNA_TRY(const auto answers, values.integer("n"));
    options.answers = answers.value_or(1);
    ETNA_CHECK(check_answers(options));
    options.model.executor.sequences_max = std::max(options.answers, options.generation.search.width());
    if (arguments.positionals.size() > 1)
        options.prompt = arguments.positionals[1];
    options.prompt_file = values.text("file").value_or("");
    options.messages_file = values.text("messages").value_or("");
    ETNA_TRY(const bool raw, values.flag("raw"));
    options.prompt_form = raw ? PromptForm::raw : PromptForm::as_message;
    if (raw)
        ETNA_CHECK(check_raw(options));
    ETNA_TRY(options.prompt_logprobs, values.integer("prompt-logprobs"));
    ETNA_CHECK(check_length(options));
    ETNA_TRY(const bool json, values.flag("json"));
    ETNA_TRY(const bool verbose, values.flag("verbose"));
    options.output_form = json ? OutputForm::json : OutputForm::text;
    options.verbosity = verbose ? Verbosity::verbose : Verbosity::quiet;
    return options;
}

Command run_spec() {
    static const std::vector<Option> options = joined(
        {run_length_options, length_options(), structure_options(), prediction_options(),
         conversation_options(), run_prompt_options, sampling_options(), answers_options, search_options(),
         hub_options(), device_options(), speculation_options(DraftsBy::command_line), run_output_options});
    return {.name = "run",
            .summary = "generate text from a prompt",
            .description =
                "Runs a model on one prompt and streams its text to standard output; everything else goes to "
                "standard error. If the text does not end in a newline, one is added, on a terminal and in a "
                "pipe alike, so that the output consists of complete lines. --json reports the text without "
                "it.\n\n"
                "If the model has a chat template and --raw is absent, the prompt is sent as a user message; "
                "otherwise the model continues the prompt. One newline at the end of standard input is not "
                "part of the prompt.\n\n"
                "Ctrl-C ends the generation after the text written so far; a second one ends the program at "
                "once. If the reader of a pipe closes it, the generation ends silently.",
            .positionals = run_positionals,
            .options = options,
            .examples = run_examples,
            .compat = all_compat_run,
            .run = run_validated<validate_run, run_command>};
}

} // namespace etna::cli
