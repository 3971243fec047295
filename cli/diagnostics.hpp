#pragma once

#include "cli/environment.hpp"
#include "cli/output.hpp"
#include "core/base/error.hpp"

#include <cstdint>
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

    void error(const Error& error); ///< "error: ...", and "hint: ..." where there is one
    void note(std::string_view text, Length length = Length::cut);
    void warning(std::string_view text);
    void line(std::string_view text); ///< without a label

    /// Whether sequences for colours may be written to standard error.
    [[nodiscard]] bool in_colour() const { return in_colour_; }

    /// Replaces the terminal's current line, without a newline; nothing unless it is a terminal. Empty clears
    /// it.
    void status(std::string_view text);

private:
    void write_line(std::string_view text);
    void labelled(std::string_view colour, std::string_view label, std::string_view text,
                  Length length = Length::cut);

    Output output_;
    bool obeys_sequences_;
    bool in_colour_;
    bool has_status_ = false;
};

} // namespace etna::cli
