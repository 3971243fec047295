#pragma once

#include <string>
#include <string_view>

namespace etna {

/// Lets whole UTF-8 characters of a stream through. The beginning of one waits for the rest; bytes that can
/// no longer become one are replaced by U+FFFD, one for each maximal subpart (see next_utf8()). Allocates
/// nothing once the buffers have grown.
class Utf8Gate {
public:
    /// Appends to `text` what can be told of `bytes`.
    void push(std::string_view bytes, std::string& text);

    /// No more will come.
    void finish(std::string& text);

private:
    std::string waiting_; ///< at most the first three bytes of a character between calls
};

} // namespace etna
