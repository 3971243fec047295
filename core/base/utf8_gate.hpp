#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace etna {

/// Passes only complete UTF-8 characters of a stream. An incomplete character is buffered until the rest
/// arrives; invalid bytes are replaced by U+FFFD, one for each maximal subpart (see next_utf8()). Does not
/// allocate after the buffers have grown.
class Utf8Gate {
public:
    /// Appends to `text` all characters that `bytes` completes.
    void push(std::string_view bytes, std::string& text);

    /// Bytes of an incomplete character that wait for the rest.
    [[nodiscard]] std::size_t waiting_bytes() const { return waiting_.size(); }

    /// Ends the stream.
    void finish(std::string& text);

private:
    std::string waiting_; ///< at most the first three bytes of a character between calls
};

} // namespace etna
