#pragma once

#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/word_wrap.hpp"
#include "core/generate/generation.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace etna::cli {

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

    /// Ends an unfinished line on either stream; call it before anything else writes.
    void end_line();

    /// Standard output, for text that is not part of the conversation.
    [[nodiscard]] Output& output() { return output_; }
    [[nodiscard]] const Output& output() const { return output_; }

private:
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
    bool in_line_ = false;              ///< the last output did not end in a newline
    std::set<std::string> shown_notes_; ///< notes that have been shown
};

} // namespace etna::cli
