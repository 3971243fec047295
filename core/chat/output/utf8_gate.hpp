#pragma once

#include <string>
#include <string_view>

namespace etna::chat::output {

/// Lets whole UTF-8 characters through. The beginning of one waits for the rest; bytes that are none become
/// U+FFFD, one for each maximal part of a character (Unicode Standard 15, section 3.9).
class Utf8Gate {
public:
    /// Appends to `text` what can be told of `bytes`.
    void push(std::string_view bytes, std::string& text);

    /// No more will come.
    void finish(std::string& text);

private:
    std::string part_;         ///< of a character
    std::size_t expected_ = 0; ///< bytes of that character
};

} // namespace etna::chat::output
