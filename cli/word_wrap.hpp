#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::cli {

/// How a text's lines are shown on a terminal.
enum class Lines : uint8_t {
    as_they_are,   ///< only where the text breaks them; the terminal breaks what is longer
    between_words, ///< also between words, to the terminal's width
};

/// Breaks lines between words while a text is written to a terminal, piece by piece. A word is held back
/// until it is whole, as it may have to begin the next line. Between two letters of double width a line may
/// break as well. Code between lines that begin with three backquotes, and words that are longer than a line,
/// are left to the terminal.
class WordWrap {
public:
    /// `indent`: columns left free at the start of lines that this class begins; none if the terminal is less
    /// than twice as wide.
    explicit WordWrap(uint32_t indent = 0) : indent_(indent) {}

    /// What to write now, for a terminal of so many columns, one at least. `text` is UTF-8 in whole
    /// characters, without control characters but newlines and tabs.
    std::string add(std::string_view text, uint32_t columns);

    /// What was held back. The next text begins a line, and is no code.
    std::string finish();

private:
    void take(std::string_view letter, uint32_t width, std::string& out);
    void place_word(std::string& out);
    void place_spaces(std::string& out);
    void advance(uint32_t width);

    uint32_t indent_;
    uint32_t columns_ = 0;
    uint32_t column_ = 0; ///< where the cursor stands
    std::string spaces_;  ///< behind what is written, before the word
    uint32_t spaces_width_ = 0;
    std::string word_; ///< or its beginning
    uint32_t word_width_ = 0;
    bool continues_ = false;  ///< the word's beginning is written already
    bool begins_line_ = true; ///< no word of the text's line has been seen
    bool is_code_ = false;
};

/// The columns of a terminal now; 0 where the descriptor is none, or the terminal does not know.
uint32_t columns_of(int descriptor);

} // namespace etna::cli
