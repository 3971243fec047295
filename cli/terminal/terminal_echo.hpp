#pragma once

#include <optional>

#include <termios.h>

namespace etna::cli {

enum class Echo { off, on };

/// Sets whether a terminal echoes typed keys, and restores its settings at the end of the scope. With
/// Echo::off, keys typed during an answer do not appear within it; they stay in the input for the next
/// reader.
class TerminalEcho {
public:
    /// Borrows the descriptor; no effect unless it is a terminal.
    TerminalEcho(int descriptor, Echo echo);
    TerminalEcho(const TerminalEcho&) = delete;
    TerminalEcho& operator=(const TerminalEcho&) = delete;
    ~TerminalEcho();

private:
    int descriptor_;
    std::optional<termios> before_;
};

} // namespace etna::cli
