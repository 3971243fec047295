#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::cli {

/// Where lines of a conversation come from.
class LineReader {
public:
    enum class Outcome : uint8_t {
        line,
        interrupted, ///< Ctrl-C: what was typed is thrown away
        too_long,    ///< more than input_bytes_max: it is passed over
        end,         ///< Ctrl-D, or the end of the input
    };

    LineReader() = default;
    LineReader(const LineReader&) = delete;
    LineReader& operator=(const LineReader&) = delete;
    virtual ~LineReader() = default;

    /// The next line, without its newline; a pasted text may hold newlines. Blocking. `prompt` is for people.
    virtual Outcome read(std::string_view prompt, std::string& line) = 0;

    /// A message that was read is worth finding again.
    virtual void remember(const std::string& message) = 0;
};

} // namespace etna::cli
