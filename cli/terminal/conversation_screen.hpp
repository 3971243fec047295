#pragma once

#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/word_wrap.hpp"
#include "core/generate/generation.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace etna::cli {

/// How far a generation is.
struct AnswerProgress {
    uint32_t prompt_tokens = 0;
    uint32_t read_tokens = 0;      ///< of the prompt, cached ones included
    uint32_t generated_tokens = 0; ///< of all answers
};

/// Thread: that of Generation::finish().
AnswerProgress progress_of(const generate::Generation& generation);

/// Displays a conversation while it is generated: content on standard output, reasoning (dimmed if colours
/// are enabled) and notes on standard error. On a terminal, control characters from the model are replaced by
/// U+FFFD, because they could change the terminal's state.
class ConversationScreen {
public:
    enum class Content : uint8_t { shown, hidden };

    ConversationScreen(const Environment& environment, Diagnostics& diagnostics, ShowReasoning reasoning,
                       Content content = Content::shown);

    void set_reasoning(ShowReasoning reasoning);
    void set_lines(LineWrap lines) { lines_ = lines; }

    void show(const generate::Event& event);

    /// Shows the progress as a status on a terminal if nothing of the answer has been shown for a second:
    /// while the prompt is read, and while a tool call, hidden reasoning or hidden content is written. Call
    /// it periodically.
    void show_progress(const AnswerProgress& progress);

    /// Ends an unfinished line on either stream; call it before anything else writes.
    void end_line();

    /// Standard output, for text that is not part of the conversation.
    [[nodiscard]] Output& output() { return output_; }
    [[nodiscard]] const Output& output() const { return output_; }

private:
    using Clock = std::chrono::steady_clock;

    void begin_output();
    [[nodiscard]] std::string status_of(const AnswerProgress& progress) const;
    void content(std::string_view text);
    void reasoning(std::string_view text);
    void end_reasoning();
    [[nodiscard]] std::string on_terminal(std::string_view text, WordWrap& wrap, int descriptor) const;

    Output output_;
    Output error_;
    int output_descriptor_;
    int error_descriptor_;
    LineWrap lines_ = LineWrap::off;
    WordWrap content_wrap_;
    WordWrap reasoning_wrap_;
    Diagnostics* diagnostics_; ///< borrowed
    bool shows_content_;
    bool output_is_terminal_;
    bool error_is_terminal_;
    bool shows_reasoning_;
    bool in_reasoning_ = false;
    bool in_line_ = false; ///< the last output did not end in a newline
    std::string called_;   ///< name of the tool whose call is being written; empty: none
    std::optional<Clock::time_point> silent_since_; ///< empty: no generation is running
    std::set<std::string> shown_notes_;             ///< notes that have been shown
};

} // namespace etna::cli
