#pragma once

#include "cli/diagnostics.hpp"
#include "cli/environment.hpp"
#include "cli/generation_options.hpp"
#include "cli/output.hpp"
#include "core/generate/generate.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace etna::cli {

/// What people see of a conversation while it is generated: content on standard output, reasoning (dimmed
/// where colours are obeyed) and notes on standard error. On a terminal, control characters of the model come
/// as U+FFFD: they would change the terminal.
class ConversationScreen {
public:
    enum class Content : uint8_t { shown, hidden };

    ConversationScreen(const Environment& environment, Diagnostics& diagnostics, ShowReasoning reasoning,
                       Content content = Content::shown);

    void set_reasoning(ShowReasoning reasoning);

    void show(const generate::Event& event);

    /// Ends the line that was begun, on either stream; also before anything else writes.
    void end_line();

    [[nodiscard]] const Output& output() const { return output_; }

private:
    void content(std::string_view text);
    void reasoning(std::string_view text);
    void end_reasoning();

    Output output_;
    Output error_;
    Diagnostics* diagnostics_; ///< borrowed
    bool shows_content_;
    bool output_is_terminal_;
    bool error_is_terminal_;
    bool shows_reasoning_;
    bool in_reasoning_ = false;
    bool in_line_ = false;       ///< what was written last did not end in a newline
    std::set<std::string> told_; ///< notes that need not be told again
};

} // namespace etna::cli
