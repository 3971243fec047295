#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace etna::cli {

/// Line breaking mode for text on a terminal.
enum class LineWrap : uint8_t {
    off,   ///< only at the text's line breaks; the terminal wraps longer lines
    words, ///< also between words, to the terminal's width
};

/// Incremental word wrap for text written to a terminal. A word is held back until it is complete, because it
/// may have to begin the next line. A line may also break between two double-width characters. Code between
/// lines that begin with three backquotes, and words longer than a line, are left to the terminal.
class WordWrap {
public:
    /// `indent`: indentation in columns of lines that this class begins; none if the terminal is less than
    /// twice as wide.
    explicit WordWrap(uint32_t indent = 0) : indent_(indent) {}

    /// Adds text; returns what to write now, for a terminal of `columns` columns, at least one. `text` is
    /// UTF-8 in complete characters, without control characters except newlines and tabs.
    std::string add(std::string_view text, uint32_t columns);

    /// Returns the held-back text. The next text begins a line outside code.
    std::string finish();

private:
    void take(std::string_view character, uint32_t width, std::string& out);
    void place_word(std::string& out);
    void place_spaces(std::string& out);
    void advance(uint32_t width);

    uint32_t indent_;
    uint32_t columns_ = 0;
    uint32_t column_ = 0; ///< cursor column
    std::string spaces_;  ///< pending spaces before the word
    uint32_t spaces_width_ = 0;
    std::string word_; ///< pending word, or the start of one
    uint32_t word_width_ = 0;
    bool continues_ = false;  ///< the start of the word is already written
    bool begins_line_ = true; ///< no word of the current line has been seen
    bool is_code_ = false;
};

/// Returns the columns that text takes on a terminal: UTF-8 in complete characters, without control
/// characters.
std::size_t width_of(std::string_view text);

/// Returns the current columns of a terminal; 0 if the descriptor is not a terminal, or its size is unknown.
uint32_t columns_of(int descriptor);

} // namespace etna::cli
