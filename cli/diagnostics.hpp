#pragma once

#include "cli/environment.hpp"
#include "cli/output.hpp"
#include "cli/word_wrap.hpp"
#include "core/base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::cli {

enum class Length : uint8_t {
    cut, ///< to about 2000 bytes
    whole,
};

/// Messages for people, on standard error, one line each, printable (cli/printable.hpp). In colour on a
/// terminal, unless NO_COLOR is set (no-color.org).
class Diagnostics {
public:
    explicit Diagnostics(const Environment& environment);

    /// Of errors, notes, warnings and paragraphs, at a terminal; as_they_are until this is called.
    void set_lines(Lines lines) { lines_ = lines; }

    void error(const Error& error); ///< "error: ...", and "hint: ..." where there is one
    void note(std::string_view text, Length length = Length::cut);
    void warning(std::string_view text);
    void line(std::string_view text); ///< without a label, on one line whatever set_lines() says
    /// Without a label. Lines that begin between words leave `indent` columns free.
    void paragraph(std::string_view text, uint32_t indent = 0);

    /// Whether sequences for colours may be written to standard error.
    [[nodiscard]] bool in_colour() const { return in_colour_; }

    /// Replaces the terminal's current line, without a newline; nothing unless it is a terminal. Empty clears
    /// it.
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
