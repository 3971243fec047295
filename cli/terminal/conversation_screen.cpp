#include "cli/terminal/conversation_screen.hpp"

#include "cli/terminal/printable.hpp"
#include "cli/terminal/progress_bar.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr std::string_view dim = "\x1b[2m"; // SGR of ECMA-48

} // namespace

AnswerProgress progress_of(const generate::Generation& generation) {
    const auto prompt = generation.prompt_progress();
    AnswerProgress progress = {.prompt_tokens = static_cast<uint32_t>(generation.prompt_tokens().size()),
                               .read_tokens = prompt ? prompt->computed_tokens : 0};
    for (uint32_t choice = 0; choice < generation.choices(); ++choice)
        progress.generated_tokens += generation.generated_tokens(choice);
    return progress;
}

ConversationScreen::ConversationScreen(const Environment& environment, Diagnostics& diagnostics,
                                       ShowReasoning reasoning, Content content)
    : output_(environment.output), error_(environment.error), output_descriptor_(environment.output),
      error_descriptor_(environment.error), diagnostics_(&diagnostics),
      shows_content_(content == Content::shown), output_is_terminal_(environment.output_is_terminal),
      error_is_terminal_(environment.error_is_terminal) {
    set_reasoning(reasoning);
}

void ConversationScreen::set_reasoning(ShowReasoning reasoning) {
    shows_reasoning_ =
        reasoning == ShowReasoning::always || (reasoning == ShowReasoning::on_terminal && error_is_terminal_);
}

void ConversationScreen::show(const generate::Event& event) {
    if (const auto* adapted = std::get_if<generate::Adapted>(&event)) {
        for (const std::string& note : adapted->notes) {
            if (shown_notes_.insert(note).second)
                diagnostics_->note(note);
        }
        for (const std::string& name : adapted->dropped) {
            if (shown_notes_.insert(name).second)
                diagnostics_->note(fmt::format("the chat template ignores: {}", name));
        }
    } else if (const auto* delta = std::get_if<generate::TextDelta>(&event)) {
        content(delta->text);
    } else if (const auto* parsed = std::get_if<output::Event>(&event)) {
        if (parsed->kind == output::EventKind::reasoning)
            reasoning(parsed->text);
        if (parsed->kind == output::EventKind::content_was_reasoning)
            end_line();
        if (parsed->kind == output::EventKind::call_started)
            called_ = parsed->name;
    } else if (std::holds_alternative<generate::Finished>(event)) {
        diagnostics_->status({});
        silent_since_.reset();
        called_.clear();
    }
}

void ConversationScreen::show_progress(const AnswerProgress& progress) {
    constexpr auto show_after = std::chrono::seconds(1);
    const auto now = Clock::now();
    if (!silent_since_)
        silent_since_ = now;
    if (!diagnostics_->shows_status() || now - *silent_since_ < show_after)
        return;
    if (in_line_ && called_.empty()) // the status would replace text
        return;
    if (in_line_)
        end_line();
    diagnostics_->status(status_of(progress));
}

/// Precondition: `silent_since_` is set.
std::string ConversationScreen::status_of(const AnswerProgress& progress) const {
    if (progress.generated_tokens == 0) {
        const double part = static_cast<double>(progress.read_tokens) /
                            static_cast<double>(std::max(progress.prompt_tokens, 1U));
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - *silent_since_);
        return progress_bar("reading the prompt", part,
                            fmt::format("{} of {} tokens, {} s", progress.read_tokens, progress.prompt_tokens,
                                        seconds.count()),
                            diagnostics_->status_columns());
    }
    if (!called_.empty())
        return fmt::format("calling {}, {} tokens", cut(printable(called_), 20), progress.generated_tokens);
    return fmt::format("{}, {} tokens", shows_reasoning_ || !shows_content_ ? "writing" : "thinking",
                       progress.generated_tokens);
}

/// Call before text of the answer is written.
void ConversationScreen::begin_output() {
    diagnostics_->status({});
    silent_since_ = Clock::now();
}

std::string ConversationScreen::on_terminal(std::string_view text, WordWrap& wrap, int descriptor) const {
    const std::string shown = terminal_safe(text);
    const uint32_t columns = lines_ == LineWrap::words ? columns_of(descriptor) : 0; // it may be resized
    return columns > 0 ? wrap.add(shown, columns) : wrap.finish() + shown;
}

void ConversationScreen::content(std::string_view text) {
    if (!shows_content_)
        return;
    begin_output();
    end_reasoning();
    output_.write(output_is_terminal_ ? on_terminal(text, content_wrap_, output_descriptor_)
                                      : std::string(text));
    in_line_ = !text.ends_with('\n');
}

void ConversationScreen::reasoning(std::string_view text) {
    if (!shows_reasoning_)
        return;
    begin_output();
    if (!in_reasoning_) {
        end_line();
        in_reasoning_ = true;
        if (diagnostics_->in_colour())
            error_.write(dim);
    }
    error_.write(error_is_terminal_ ? on_terminal(text, reasoning_wrap_, error_descriptor_)
                                    : std::string(text));
    in_line_ = !text.ends_with('\n');
}

void ConversationScreen::end_reasoning() {
    if (!in_reasoning_)
        return;
    in_reasoning_ = false;
    error_.write(reasoning_wrap_.finish());
    if (diagnostics_->in_colour())
        error_.write(reset_style);
    if (in_line_)
        error_.write("\n");
    in_line_ = false;
}

void ConversationScreen::end_line() {
    diagnostics_->status({});
    end_reasoning();
    output_.write(content_wrap_.finish());
    if (in_line_)
        output_.write("\n");
    in_line_ = false;
}

} // namespace etna::cli
