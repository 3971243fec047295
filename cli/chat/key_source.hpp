#pragma once

#include "cli/environment.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace etna::cli {

/// Letters as they are typed at a terminal in raw mode, and what happens to it meanwhile. Signals are only
/// noted by their handlers: everything that has to be done about them is done by who asks for letters.
class KeySource {
public:
    enum class Event : uint8_t {
        letter,
        interrupted, ///< SIGINT came from elsewhere: Ctrl-C is a letter
        resized,     ///< the terminal has another size
        resumed,     ///< the program was stopped and goes on
        silence,     ///< nothing came in time
        end,         ///< the terminal is gone, or the end is asked for
    };

    /// While it lives, SIGWINCH, SIGCONT and SIGINT are noted. One at a time in a process.
    class Watch {
    public:
        Watch();
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;
        ~Watch();
    };

    /// Borrows the descriptor.
    KeySource(int descriptor, EndSignal end_signal)
        : descriptor_(descriptor), end_signal_(std::move(end_signal)) {}

    /// The next letter, a code point; bytes that are no UTF-8 are passed over. Blocking, as long as
    /// `patience` says, or without an end. Precondition: there is a Watch.
    Event next(wchar_t& letter, std::optional<std::chrono::milliseconds> patience = std::nullopt);

private:
    bool read_byte();
    bool take_letter(wchar_t& letter);

    int descriptor_;
    EndSignal end_signal_;
    std::string begun_; ///< bytes of a letter that is not whole yet
};

} // namespace etna::cli
