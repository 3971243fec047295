#include "cli/commands/multiple_answers.hpp"

#include "cli/commands/answer_report.hpp"
#include "cli/terminal/conversation_screen.hpp"
#include "core/generate/generation.hpp"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

struct Answer {
    std::string text;
    std::vector<generate::PromptTokenDelta> prompt;
    std::vector<generate::TokenDelta> tokens;
    std::optional<generate::Finished> finished = {};
};

class AnswerWriter {
public:
    AnswerWriter(const RunOptions& options, const generate::Model& model, const generate::Request& request,
                 const Environment& environment, Diagnostics& diagnostics)
        : options_(&options), model_(&model), diagnostics_(&diagnostics),
          screen_(environment, diagnostics, ShowReasoning::never),
          error_is_terminal_(environment.error_is_terminal),
          is_conversation_(std::holds_alternative<chat::Conversation>(request.prompt)),
          answers_(options.answers) {}

    generate::SinkResult receive(uint32_t index, const generate::Event& event) {
        Answer& answer = answers_[index];
        if (const auto* token = std::get_if<generate::PromptTokenDelta>(&event))
            answer.prompt.push_back(*token);
        if (const auto* token = std::get_if<generate::TokenDelta>(&event))
            answer.tokens.push_back(*token);
        if (const auto* delta = std::get_if<generate::TextDelta>(&event))
            answer.text += delta->text;
        if (std::holds_alternative<generate::Adapted>(event))
            screen_.show(event); // each note once
        if (const auto* finished = std::get_if<generate::Finished>(&event)) {
            answer.finished = *finished;
            if (is_conversation_) // the parser may reclassify text as reasoning
                answer.text = finished->output.content;
            write_complete_answers();
        }
        return state() == OutputState::open ? generate::SinkResult::proceed : generate::SinkResult::stop;
    }

    void show_progress(const generate::Generation& generation) {
        screen_.show_progress(progress_of(generation));
    }

    /// Reports at a terminal how many answers are incomplete, and why.
    void report_incomplete() {
        if (writes_json() || !error_is_terminal_ || state() != OutputState::open)
            return;
        std::size_t count = 0;
        std::string cause;
        for (const Answer& answer : answers_) {
            const std::string why = answer.finished
                                        ? why_incomplete(*answer.finished, options_->generation.max_tokens)
                                        : std::string(stopped_early);
            if (why.empty())
                continue;
            ++count;
            if (cause != stopped_early) // a stop by the user takes precedence
                cause = why;
        }
        if (count > 0) {
            diagnostics_->note(
                fmt::format("{}; {} of {} answers are incomplete", cause, count, answers_.size()));
        }
    }

    /// Reports the answers that a limit cut off before they matched the grammar. Returns whether there are
    /// any.
    bool report_cut_off() {
        bool has_any = false;
        for (const Answer& answer : answers_) {
            const auto error = answer.finished
                                   ? cut_off_answer(*answer.finished, answer.text, options_->generation)
                                   : std::nullopt;
            if (error && !has_any)
                diagnostics_->error(*error);
            has_any = has_any || error;
        }
        return has_any;
    }

    [[nodiscard]] bool was_cancelled() const { return was_cancelled_; }
    [[nodiscard]] OutputState state() const { return screen_.output().state(); }
    [[nodiscard]] Error error() const { return screen_.output().error(); }

private:
    [[nodiscard]] bool writes_json() const { return options_->output_form == OutputForm::json; }

    void write_complete_answers() {
        for (; next_ < answers_.size() && answers_[next_].finished; ++next_) {
            write(answers_[next_]);
            if (options_->verbosity == Verbosity::verbose)
                verbose_report(*diagnostics_, *model_, *answers_[next_].finished);
        }
    }

    void write(const Answer& answer) {
        const generate::Finished& finished = *answer.finished;
        was_cancelled_ = was_cancelled_ || finished.finish_reason == generate::FinishReason::cancelled;
        if (writes_json()) {
            screen_.output().write(
                json_report(*model_, {.finished = finished,
                                      .text = answer.text,
                                      .prompt = options_->prompt_logprobs ? &answer.prompt : nullptr,
                                      .tokens = options_->generation.logprobs ? &answer.tokens : nullptr,
                                      .index = static_cast<uint32_t>(next_)}));
            return;
        }
        screen_.show(generate::TextDelta{(next_ > 0 ? "\n" : "") + answer.text});
        screen_.end_line();
        if (!finished.output.calls.empty())
            screen_.show(generate::TextDelta{call_lines(finished.output.calls)});
        if (next_ == 0) // the same for all answers
            report_prompt_logprobs(*diagnostics_, answer.prompt);
        report_logprobs(*diagnostics_, answer.tokens);
    }

    const RunOptions* options_; ///< borrowed, as are these
    const generate::Model* model_;
    Diagnostics* diagnostics_;
    ConversationScreen screen_;
    bool error_is_terminal_;
    bool is_conversation_;
    std::vector<Answer> answers_;
    std::size_t next_ = 0; ///< first answer not written yet
    bool was_cancelled_ = false;
};

} // namespace

ExitCode run_multiple_answers(const RunOptions& options, const generate::Model& model,
                              generate::Request request, const Environment& environment,
                              Diagnostics& diagnostics) {
    const EndSignal end_signal = environment.watch_end_signals();
    const CancelPoll is_cancelled = environment.watch_interrupts(SecondInterrupt::ends_program);
    request.choices = options.answers;
    AnswerWriter writer(options, model, request, environment, diagnostics);
    auto generation = generate::Generation::begin(model, std::move(request), is_cancelled);
    Status status;
    if (generation) {
        status = generation->finish(
            [&](uint32_t index, const generate::Event& event) { return writer.receive(index, event); },
            [&] {
                writer.show_progress(*generation);
                return is_cancelled();
            });
    } else {
        status = generation.error();
    }
    const bool was_stopped_early = !status && status.error().kind == ErrorKind::cancelled;
    if (status || was_stopped_early)
        writer.report_incomplete();
    if (was_stopped_early)
        return exit_code_for_signal(end_signal());
    if (!status || writer.state() == OutputState::failed) {
        diagnostics.error(status ? writer.error() : status.error());
        return ExitCode::failed;
    }
    if (writer.state() == OutputState::closed)
        return ExitCode::done;
    if (writer.was_cancelled())
        return exit_code_for_signal(end_signal());
    return writer.report_cut_off() ? ExitCode::failed : ExitCode::done;
}

} // namespace etna::cli
