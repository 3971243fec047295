#pragma once

#include "cli/environment.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace etna::cli {

/// Source of typed characters and terminal events, for a terminal in raw mode. Signal handlers only set
/// flags; the caller of next() acts on them.
class KeySource {
public:
    enum class Event : uint8_t {
        letter,
        interrupted, ///< SIGINT from another process: a typed Ctrl-C is a letter
        resized,     ///< the terminal size changed
        resumed,     ///< the program was stopped and continued
        silence,     ///< the time limit expired without input
        end,         ///< the terminal is gone, or an end signal arrived
    };

    /// Records SIGWINCH, SIGCONT and SIGINT during its lifetime. At most one per process at a time.
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

    /// Reads the next letter, a code point; skips bytes that are not UTF-8. Blocks for at most `timeout`, or
    /// without limit. Precondition: there is a Watch.
    Event next(wchar_t& letter, std::optional<std::chrono::milliseconds> timeout = std::nullopt);

private:
    bool read_byte();
    bool take_letter(wchar_t& letter);

    int descriptor_;
    EndSignal end_signal_;
    std::string begun_; ///< bytes of an incomplete letter
};

} // namespace etna::cli
