#pragma once

#include "cli/environment.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace etna::cli {

/// Source of the lines of a conversation.
class LineReader {
public:
    enum class Outcome : uint8_t {
        line,
        interrupted, ///< Ctrl-C: the typed text is discarded
        too_long,    ///< more than input_bytes_max: the line is skipped
        end,         ///< Ctrl-D, or the end of the input
    };

    LineReader() = default;
    LineReader(const LineReader&) = delete;
    LineReader& operator=(const LineReader&) = delete;
    virtual ~LineReader() = default;

    /// Reads the next line, without its newline; pasted text may contain newlines. Blocking. `prompt` is
    /// shown to the user.
    virtual Outcome read(std::string_view prompt, std::string& line) = 0;

    /// Adds a message to the history.
    virtual void remember(const std::string& message) = 0;
};

/// Reads lines from a pipe or a file, without prompts and without a leading byte order mark. Invalid UTF-8
/// becomes U+FFFD. Buffers at most input_bytes_max of a line that is too long.
class PlainReader : public LineReader {
public:
    /// Borrows the descriptor. A signal reported by `end_signal` ends the input.
    PlainReader(int descriptor, EndSignal end_signal)
        : descriptor_(descriptor), end_signal_(std::move(end_signal)) {}

    Outcome read(std::string_view prompt, std::string& line) override;
    void remember(const std::string& /*message*/) override {}

private:
    int descriptor_;
    EndSignal end_signal_;
    std::string buffer_;         ///< bytes read that do not form a line yet
    bool has_read_line_ = false; ///< a line was read
    bool is_too_long_ = false;   ///< the start of this line was dropped
    bool has_ended_ = false;
};

/// A typed message: a line, or the lines between two `"""`, which are never a command.
struct TypedMessage {
    enum class Kind : uint8_t { line, block };
    Kind kind = Kind::line;
    std::string text = {};
};

/// Reads the next message. Skips empty lines and discards a message interrupted in the middle. Blocking.
LineReader::Outcome read_message(LineReader& reader, TypedMessage& message);

} // namespace etna::cli
