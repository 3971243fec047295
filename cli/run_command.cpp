#include "cli/run_command.hpp"

#include "cli/diagnostics.hpp"
#include "cli/folders.hpp"
#include "cli/loading_bar.hpp"
#include "cli/log_to_diagnostics.hpp"
#include "cli/logprobs.hpp"
#include "cli/output.hpp"
#include "cli/prompt.hpp"
#include "cli/run_report.hpp"
#include "core/generate/generate.hpp"
#include "core/store/resolve.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

Result<generate::Model> load(const RunOptions& options, const Environment& environment,
                             Diagnostics& diagnostics) {
    ETNA_TRY(const auto source, store::resolve(options.model, models_folder(environment.variables)));
    LoadingBar bar(diagnostics);
    generate::ExecutorOptions executor = options.executor;
    executor.cache_folder = cache_folder(environment.variables);
    executor.progress = [&bar](uint64_t done_bytes, uint64_t total_bytes) {
        bar.show(done_bytes, total_bytes);
    };
    return generate::Model::load(source, executor, environment.executor_factory);
}

void tell_about(const generate::Model& model, const RunOptions& options, Diagnostics& diagnostics) {
    if (model.on_cpu() && options.executor.device.empty()) {
        diagnostics.note(
            fmt::format("no usable GPU was found: running on the CPU ({})", model.device_name()));
    }
    const bool is_capped = model.context_tokens() < model.trained_context_tokens();
    if (model.trained_context_tokens() != 0 && model.context_tokens() > model.trained_context_tokens()) {
        diagnostics.note(
            fmt::format("a context of {} tokens is more than the {} that the model was trained for",
                        model.context_tokens(), model.trained_context_tokens()));
    }
    if (options.executor.context_tokens == 0 && is_capped) {
        diagnostics.note(fmt::format("memory caps the context to {} of the model's {} tokens",
                                     model.context_tokens(), model.trained_context_tokens()));
    }
}

Result<generate::Request> request_of(const RunOptions& options, const generate::Model& model,
                                     std::string prompt) {
    generate::Request request;
    if (options.prompt_form == PromptForm::raw || !model.chat_template()) {
        if (!options.system.empty()) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("{} has no chat template, which --system needs", model.name()),
                         "put its text at the beginning of the prompt"};
        }
        request.prompt = std::move(prompt);
    } else {
        std::vector<chat::Message> messages;
        if (!options.system.empty())
            messages.push_back({chat::Role::system, options.system});
        messages.push_back({chat::Role::user, std::move(prompt)});
        request.prompt = std::move(messages);
    }
    request.max_tokens = options.max_tokens;
    request.sampling = options.sampling.wishes;
    request.logit_bias = options.sampling.logit_bias;
    if (options.sampling.dry_breakers)
        request.dry_breakers = *options.sampling.dry_breakers;
    request.seed = options.sampling.seed;
    request.stop = options.stop;
    request.logprobs = options.logprobs;
    return request;
}

/// Streams the text, or keeps it for JSON.
struct Receiver {
    Output output;
    OutputForm form;
    std::string text = {};
    std::vector<generate::TokenDelta> tokens = {}; ///< with --logprobs
    generate::Finished finished = {};

    generate::Flow receive(const generate::Event& event) {
        if (const auto* last = std::get_if<generate::Finished>(&event)) {
            finished = *last;
            return generate::Flow::go_on;
        }
        if (const auto* token = std::get_if<generate::TokenDelta>(&event)) {
            tokens.push_back(*token);
            return generate::Flow::go_on;
        }
        const std::string& piece = std::get<generate::TextDelta>(event).text;
        text += piece;
        if (form == OutputForm::text)
            output.write(piece);
        return output.state() == OutputState::open ? generate::Flow::go_on : generate::Flow::stop;
    }

    /// The newline that makes whole lines of the text; also after an error, before its message.
    void finish_line() {
        if (form == OutputForm::text && !text.empty() && !text.ends_with('\n'))
            output.write("\n");
    }
};

ExitCode exit_code(const Receiver& receiver, Diagnostics& diagnostics) {
    if (receiver.output.state() == OutputState::failed) {
        diagnostics.error(receiver.output.error());
        return ExitCode::failed;
    }
    if (receiver.output.state() == OutputState::closed)
        return ExitCode::done;
    return receiver.finished.finish_reason == generate::FinishReason::cancelled ? ExitCode::interrupted
                                                                                : ExitCode::done;
}

/// Whether chance had a part in the text, and nobody chose it.
bool drew_a_seed(const generate::Model& model, const RunOptions& options) {
    return !options.sampling.seed &&
           generate::with_wishes(model.sampling_defaults(), options.sampling.wishes).temperature > 0;
}

} // namespace

ExitCode run_command(const RunOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const LogToDiagnostics log(diagnostics, options.verbosity);
    const auto fail = [&](const Error& error, ExitCode code) { return diagnostics.error(error), code; };

    const auto input = read_input(environment.input, FinalNewline::dropped);
    if (!input)
        return fail(input.error(), ExitCode::failed);
    auto prompt = assemble_prompt(options.prompt, *input);
    if (!prompt)
        return fail(prompt.error(), ExitCode::usage);
    const auto model = load(options, environment, diagnostics);
    if (!model)
        return fail(model.error(), ExitCode::failed);
    tell_about(*model, options, diagnostics);

    const auto request = request_of(options, *model, std::move(*prompt));
    if (!request)
        return fail(request.error(), ExitCode::failed);
    Receiver receiver{.output = Output(environment.output), .form = options.output_form};
    const auto stop_requested = environment.watch_interrupts();
    const Status status = generate::generate(
        *model, *request, [&](const generate::Event& event) { return receiver.receive(event); },
        stop_requested);
    receiver.finish_line();
    if (!status)
        return fail(status.error(), ExitCode::failed);
    if (options.output_form == OutputForm::json) {
        receiver.output.write(json_report(*model, receiver.finished, receiver.text,
                                          options.logprobs ? &receiver.tokens : nullptr));
    } else {
        report_logprobs(diagnostics, receiver.tokens);
    }
    if (options.verbosity == Verbosity::verbose) {
        verbose_report(diagnostics, *model, receiver.finished);
    } else if (receiver.output.state() == OutputState::open && environment.error_is_terminal &&
               options.output_form == OutputForm::text && drew_a_seed(*model, options)) {
        diagnostics.note(fmt::format("--seed {} repeats this", receiver.finished.seed));
    }
    return exit_code(receiver, diagnostics);
}

} // namespace etna::cli
