#include "cli/terminal/word_wrap.hpp"

#include "core/base/utf8.hpp"

#include <clocale>
#include <cwchar>
#include <utility>

#include <sys/ioctl.h>

namespace etna::cli {
namespace {

constexpr uint32_t tab_columns = 8;
constexpr std::string_view fence = "```";

/// Returns 0, 1 or 2 columns, by the C library's wcwidth tables.
uint32_t width_of(char32_t character) {
    if (character < 0x80)
        return 1;
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    const locale_t before = ::uselocale(utf8);
    const int width = ::wcwidth(static_cast<wchar_t>(character));
    ::uselocale(before);
    return width < 0 ? 1 : static_cast<uint32_t>(width);
}

/// Takes the first character off a text, and returns its columns.
uint32_t take_width(std::string_view& text, std::string_view& character) {
    const Utf8Step step = next_utf8(text);
    character = text.substr(0, step.bytes);
    text.remove_prefix(step.bytes);
    return width_of(step.kind == Utf8Kind::valid ? code_point_of(character, step.bytes) : U'\0');
}

} // namespace

std::size_t width_of(std::string_view text) {
    std::size_t width = 0;
    std::string_view character;
    while (!text.empty())
        width += take_width(text, character);
    return width;
}

std::string WordWrap::add(std::string_view text, uint32_t columns) {
    columns_ = columns;
    std::string out;
    std::string_view character;
    while (!text.empty()) {
        const uint32_t width = take_width(text, character);
        take(character, width, out);
    }
    return out;
}

void WordWrap::take(std::string_view character, uint32_t width, std::string& out) {
    if (character == "\n") {
        place_word(out);
        place_spaces(out);
        out += '\n';
        column_ = 0;
        begins_line_ = true;
    } else if (character == " " || character == "\t") {
        place_word(out);
        const uint32_t at = column_ + spaces_width_;
        spaces_ += character;
        spaces_width_ += character == " " ? 1 : tab_columns - at % tab_columns;
    } else if (width == 2) { // a double-width character is a separate word
        place_word(out);
        word_ = character;
        word_width_ = width;
        place_word(out);
    } else {
        word_ += character;
        word_width_ += width;
        if (word_width_ >= columns_) {
            place_word(out);
            continues_ = true;
        }
    }
}

/// Writes the spaces and the word, or a new line and the word.
void WordWrap::place_word(std::string& out) {
    const bool continues = std::exchange(continues_, false);
    if (word_.empty())
        return;
    if (std::exchange(begins_line_, false) && word_.starts_with(fence))
        is_code_ = !is_code_;
    const bool breaks =
        !continues && !is_code_ && column_ > 0 && column_ + spaces_width_ + word_width_ > columns_;
    if (breaks) {
        column_ = indent_ * 2 <= columns_ ? indent_ : 0;
        out += '\n' + std::string(column_, ' ');
    } else {
        out += spaces_;
        advance(spaces_width_);
    }
    out += std::exchange(word_, {});
    advance(std::exchange(word_width_, 0));
    spaces_.clear();
    spaces_width_ = 0;
}

/// Writes the pending spaces at the end of a line if they fit.
void WordWrap::place_spaces(std::string& out) {
    const std::string spaces = std::exchange(spaces_, {});
    if (column_ + std::exchange(spaces_width_, 0) <= columns_)
        out += spaces;
}

/// Tracks the terminal's own wrapping of longer text. After the last column the cursor waits there.
void WordWrap::advance(uint32_t width) {
    column_ += width;
    if (column_ > columns_)
        column_ = (column_ - 1) % columns_ + 1;
}

std::string WordWrap::finish() {
    std::string out;
    place_word(out);
    place_spaces(out);
    *this = WordWrap(indent_);
    return out;
}

uint32_t columns_of(int descriptor) {
    winsize size{};
    return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

} // namespace etna::cli
