#pragma once

#include "cli/environment.hpp"
#include "cli/terminal/word_wrap.hpp"
#include "core/base/error.hpp"
#include "core/base/log.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::cli {

enum class OutputState {
    open,
    closed, ///< the reader of the pipe has closed it
    failed, ///< a write failed; see Output::error()
};

/// Unbuffered standard output. Once closed or failed, it drops everything.
class Output {
public:
    /// Borrows the descriptor. SIGPIPE must be ignored.
    explicit Output(int descriptor) : descriptor_(descriptor) {}

    /// Blocks until everything is written or the output is no longer open.
    OutputState write(std::string_view text);

    [[nodiscard]] OutputState state() const { return state_; }

    /// Returns the failed operation and its cause. Precondition: the state is failed.
    [[nodiscard]] Error error() const;

private:
    int descriptor_;
    OutputState state_ = OutputState::open;
    int error_number_ = 0;
};

/// Ends colours and styles of a terminal: SGR 0 of ECMA-48.
constexpr std::string_view reset_style = "\x1b[0m";

enum class Length : uint8_t {
    cut, ///< to about 2000 bytes
    full,
};

/// User-facing messages on standard error, one line each, printable (cli/terminal/printable.hpp). Coloured on
/// a terminal, unless NO_COLOR is set (no-color.org).
class Diagnostics {
public:
    explicit Diagnostics(const Environment& environment);

    /// Sets the line breaking of errors, notes, warnings and paragraphs at a terminal; initially off.
    void set_lines(LineWrap lines) { lines_ = lines; }

    void error(const Error& error); ///< "error: ...", and "hint: ..." if there is a hint
    void note(std::string_view text, Length length = Length::cut);
    void warning(std::string_view text);
    void line(std::string_view text); ///< without a label, on one line regardless of set_lines()
    /// Without a label. Wrapped lines are indented by `indent` columns.
    void paragraph(std::string_view text, uint32_t indent = 0);

    /// Whether colour sequences may be written to standard error.
    [[nodiscard]] bool in_colour() const { return in_colour_; }

    /// Replaces the terminal's current line, without a newline; does nothing if there is no terminal. An
    /// empty text clears the line.
    void status(std::string_view text);

private:
    void write_line(std::string_view text);
    void labelled(std::string_view colour, std::string_view label, std::string_view text,
                  Length length = Length::cut);
    [[nodiscard]] std::string in_lines(std::string text, uint32_t indent) const;

    Output output_;
    int descriptor_;
    bool is_terminal_;
    LineWrap lines_ = LineWrap::off;
    bool supports_sequences_;
    bool in_colour_;
    bool has_status_ = false;
};

enum class Verbosity : uint8_t { quiet, verbose };

/// Sends core's log messages to the diagnostics during its lifetime; those below warning level only if
/// verbose.
class LogToDiagnostics {
public:
    /// Borrows `diagnostics`.
    LogToDiagnostics(Diagnostics& diagnostics, Verbosity verbosity) {
        set_log_sink([&diagnostics, verbosity](LogLevel level, std::string_view message) {
            if (level == LogLevel::warning) {
                diagnostics.warning(message);
            } else if (verbosity == Verbosity::verbose) {
                diagnostics.line(message);
            }
        });
    }
    LogToDiagnostics(const LogToDiagnostics&) = delete;
    LogToDiagnostics& operator=(const LogToDiagnostics&) = delete;
    ~LogToDiagnostics() { set_log_sink({}); }
};

} // namespace etna::cli
