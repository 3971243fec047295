#pragma once

#include "cli/environment.hpp"
#include "cli/terminal/word_wrap.hpp"
#include "core/base/error.hpp"
#include "core/base/log.hpp"

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace etna::cli {

enum class OutputState {
    open,
    closed, ///< the reader of the pipe has closed it
    failed, ///< a write failed; see Output::error()
};

/// Unbuffered output to a descriptor, usually standard output. Once closed or failed, it drops everything.
class Output {
public:
    /// Borrows the descriptor. SIGPIPE must be ignored. `name` is for errors.
    explicit Output(int descriptor, std::string name = "standard output")
        : descriptor_(descriptor), name_(std::move(name)) {}

    /// Blocks until everything is written or the output is no longer open.
    OutputState write(std::string_view text);

    [[nodiscard]] OutputState state() const { return state_; }

    /// Returns the failed operation and its cause. Precondition: the state is failed.
    [[nodiscard]] Error error() const;

private:
    int descriptor_;
    std::string name_;
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
/// a terminal, unless NO_COLOR is set (no-color.org). Messages may come from any thread.
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

    /// Replaces the terminal's current line, without a newline; does nothing if there is no terminal. A text
    /// that is wider than the terminal is cut. An empty text clears the line.
    void status(std::string_view text);

    /// Whether status() shows anything, and the columns that it has.
    [[nodiscard]] bool shows_status() const { return supports_sequences_; }
    [[nodiscard]] uint32_t status_columns() const;

private:
    void write_line(std::string_view text);
    void replace_status(std::string_view text);
    void labelled(std::string_view colour, std::string_view label, std::string_view text,
                  Length length = Length::cut);
    [[nodiscard]] std::string in_lines(std::string text, uint32_t indent) const;

    Output output_;
    int descriptor_;
    bool is_terminal_;
    LineWrap lines_ = LineWrap::off;
    bool supports_sequences_;
    bool in_colour_;
    std::mutex writing_; ///< guards the members below, and the output
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
