#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

} // namespace etna::cli
