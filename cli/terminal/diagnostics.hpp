#pragma once

#include "cli/environment.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/word_wrap.hpp"
#include "core/base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::cli {

/// Ends colours and styles of a terminal: SGR 0 of ECMA-48.
constexpr std::string_view reset_style = "\x1b[0m";

enum class Length : uint8_t {
    cut, ///< to about 2000 bytes
    whole,
};

/// User-facing messages on standard error, one line each, printable (cli/printable.hpp). Coloured on a
/// terminal, unless NO_COLOR is set (no-color.org).
class Diagnostics {
public:
    explicit Diagnostics(const Environment& environment);

    /// Sets the line breaking of errors, notes, warnings and paragraphs at a terminal; initially as_they_are.
    void set_lines(Lines lines) { lines_ = lines; }

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
    Lines lines_ = Lines::as_they_are;
    bool obeys_sequences_;
    bool in_colour_;
    bool has_status_ = false;
};

} // namespace etna::cli
