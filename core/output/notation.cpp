#include "core/output/notation.hpp"

#include "core/base/utf8.hpp"
#include "core/output/json_scanner.hpp"
#include "core/output/markers.hpp"

#include <algorithm>
#include <utility>

namespace etna::output {
namespace {

bool is_ascii_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

bool is_word_byte(char byte) {
    return is_ascii_digit(byte) || byte == '_' || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || static_cast<unsigned char>(byte) >= 0x80;
}

/// Recursive-descent converter for a complete text; its functions return false on a syntax error.
class Converter {
public:
    Converter(std::string_view text, std::string_view string_delimiter)
        : rest_(text), string_delimiter_(string_delimiter) {}

    bool value(std::size_t depth);
    bool keywords();
    bool at_end() { return skip_space(), rest_.empty(); }
    std::string json;

private:
    bool skip_space();
    bool take(char byte);
    std::string_view take_word();
    bool string();
    bool delimited_string();
    bool escape(std::string& text);
    bool code_point(std::string& text, std::size_t digits);
    bool number();
    bool word();
    bool undelimited();
    bool list(char close, std::size_t depth);
    bool dictionary(std::size_t depth);
    bool key(std::size_t depth);

    std::string_view rest_;
    std::string_view string_delimiter_;
};

bool Converter::skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(white_space), rest_.size()));
    return !rest_.empty();
}

bool Converter::take(char byte) {
    if (!skip_space() || rest_.front() != byte)
        return false;
    rest_.remove_prefix(1);
    return true;
}

std::string_view Converter::take_word() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_word_byte);
    const auto word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    return word;
}

bool Converter::value(std::size_t depth) {
    if (depth == 0 || !skip_space())
        return false;
    if (!string_delimiter_.empty() && rest_.starts_with(string_delimiter_))
        return delimited_string();
    const char first = rest_.front();
    if (first == '"' || first == '\'')
        return string();
    if (take('['))
        return list(']', depth);
    if (take('('))
        return list(')', depth);
    if (take('{'))
        return dictionary(depth);
    if (!string_delimiter_.empty())
        return undelimited();
    if (is_ascii_digit(first) || first == '-' || first == '+' || first == '.')
        return number();
    return word();
}

bool Converter::delimited_string() {
    rest_.remove_prefix(string_delimiter_.size());
    const auto end = rest_.find(string_delimiter_);
    if (end == std::string_view::npos)
        return false;
    json += json_string(rest_.substr(0, end));
    rest_.remove_prefix(end + string_delimiter_.size());
    return true;
}

bool Converter::string() {
    std::string text;
    do { // Python joins adjacent strings, which also handles '''
        const char quote = rest_.front();
        rest_.remove_prefix(1);
        while (!rest_.empty() && rest_.front() != quote) {
            const char byte = rest_.front();
            rest_.remove_prefix(1);
            if (byte != '\\') {
                text += byte;
            } else if (!escape(text)) {
                return false;
            }
        }
        if (rest_.empty())
            return false;
        rest_.remove_prefix(1);
    } while (skip_space() && (rest_.front() == '"' || rest_.front() == '\''));
    json += json_string(text);
    return true;
}

bool Converter::escape(std::string& text) {
    if (rest_.empty())
        return false;
    const char byte = rest_.front();
    rest_.remove_prefix(1);
    constexpr std::string_view letters = "abfnrtv\\'\"/0";
    constexpr std::string_view meanings{"\a\b\f\n\r\t\v\\'\"/\0", letters.size()};
    if (const auto at = letters.find(byte); at != std::string_view::npos) {
        text += meanings[at];
    } else if (byte == 'x' || byte == 'u' || byte == 'U') {
        return code_point(text, byte == 'x' ? 2 : byte == 'u' ? 4 : 8);
    } else if (byte != '\n') { // a backslash at the end of a line joins lines
        text += {'\\', byte};
    }
    return true;
}

bool Converter::code_point(std::string& text, std::size_t digits) {
    const auto hex = [&](char32_t& value) {
        const auto word = rest_.substr(0, digits);
        value = 0;
        for (const char byte : word) {
            const auto digit = std::string_view("0123456789abcdef")
                                   .find(is_ascii_digit(byte) ? byte : static_cast<char>(byte | 0x20));
            if (digit == std::string_view::npos)
                return false;
            value = value * 16 + static_cast<char32_t>(digit);
        }
        rest_.remove_prefix(word.size());
        return word.size() == digits;
    };
    char32_t value = 0;
    if (!hex(value))
        return false;
    if (value >= 0xD800 && value < 0xDC00 && rest_.starts_with("\\u")) { // a surrogate pair, as in JSON
        char32_t low = 0;
        rest_.remove_prefix(2);
        if (!hex(low) || low < 0xDC00 || low > 0xDFFF)
            return false;
        value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return false;
    append_utf8(text, value);
    return true;
}

bool Converter::number() {
    const auto end = rest_.find_first_not_of("+-.0123456789eE_");
    std::string digits(rest_.substr(0, end));
    rest_.remove_prefix(digits.size());
    std::erase(digits, '_');
    if (digits.starts_with('+'))
        digits.erase(0, 1);
    const std::size_t first = digits.starts_with('-') ? 1 : 0;
    if (digits.size() > first && digits[first] == '.')
        digits.insert(first, 1, '0');
    if (const auto point = digits.find('.');
        point != std::string::npos && (point + 1 == digits.size() || !is_ascii_digit(digits[point + 1])))
        digits.insert(point + 1, 1, '0');
    if (!is_json_object("{\"n\":" + digits + "}"))
        return false;
    json += digits;
    return true;
}

bool Converter::word() {
    const auto word = take_word();
    if (word == "True" || word == "true") {
        json += "true";
    } else if (word == "False" || word == "false") {
        json += "false";
    } else if (word == "None" || word == "null") {
        json += "null";
    } else {
        return false;
    }
    return true;
}

/// Where strings have delimiters, a value without them may still be a string.
bool Converter::undelimited() {
    const auto end = std::min(rest_.find_first_of(",]}"), rest_.size());
    const auto text = trim(rest_.substr(0, end));
    rest_.remove_prefix(end);
    if (text.empty())
        return false;
    const auto literal = literal_to_json(text);
    json += literal ? *literal : json_string(text);
    return true;
}

bool Converter::list(char close, std::size_t depth) {
    json += '[';
    bool first = true;
    while (!take(close)) {
        if (!first)
            json += ", ";
        if (!value(depth - 1) || (!take(',') && (!skip_space() || rest_.front() != close)))
            return false;
        first = false;
    }
    json += ']';
    return true;
}

bool Converter::dictionary(std::size_t depth) {
    json += '{';
    bool first = true;
    while (!take('}')) {
        if (!first)
            json += ", ";
        if (!key(depth) || !take(':'))
            return false;
        json += ": ";
        if (!value(depth - 1) || (!take(',') && (!skip_space() || rest_.front() != '}')))
            return false;
        first = false;
    }
    json += '}';
    return true;
}

bool Converter::key(std::size_t depth) {
    if (!skip_space())
        return false;
    if (rest_.front() == '"' || rest_.front() == '\'' ||
        (!string_delimiter_.empty() && rest_.starts_with(string_delimiter_)))
        return value(depth);
    const auto end = rest_.find_first_of(":,{}[]");
    const auto name = trim(rest_.substr(0, end));
    if (end == std::string_view::npos || rest_[end] != ':' || name.empty())
        return false;
    rest_.remove_prefix(end);
    json += json_string(name);
    return true;
}

bool Converter::keywords() {
    json += '{';
    bool first = true;
    while (!at_end()) {
        const auto name = take_word();
        if (name.empty() || !take('='))
            return false;
        json += first ? "" : ", ";
        json += json_string(name);
        json += ": ";
        if (!value(NotationScanner::max_depth) || (!take(',') && !at_end()))
            return false;
        first = false;
    }
    json += '}';
    return true;
}

} // namespace

NotationScanner::Step NotationScanner::feed(char byte) {
    if (quote_ != 0)
        return string_byte(byte);
    const bool in_delimiter = delimiter_bytes_ > 0 && byte == string_delimiter_[delimiter_bytes_];
    if (!string_delimiter_.empty())
        track_delimiter(byte);
    if (!in_delimiter && (byte == '"' || (byte == '\'' && string_delimiter_.empty()))) {
        quote_ = byte;
        delimiter_bytes_ = 0;
        is_plain_ = true;
    }
    if (byte == '(' || byte == '[' || byte == '{') {
        if (open_.size() == max_depth)
            return Step::bad;
        open_ += byte == '(' ? ')' : static_cast<char>(byte + 2);
    } else if (byte == ')' || byte == ']' || byte == '}') {
        if (open_.empty())
            return Step::above;
        if (open_.back() != byte)
            return Step::bad;
        open_.pop_back();
        return open_.empty() ? Step::closed : Step::inside;
    }
    return Step::inside;
}

NotationScanner::Step NotationScanner::string_byte(char byte) {
    if (!is_plain_) {
        track_delimiter(byte);
        return Step::inside;
    }
    if (escaped_) {
        escaped_ = false;
    } else if (byte == '\\') {
        escaped_ = true;
    } else if (byte == quote_) {
        quote_ = 0;
    }
    return Step::inside;
}

void NotationScanner::track_delimiter(char byte) {
    if (byte != string_delimiter_[delimiter_bytes_]) {
        delimiter_bytes_ = byte == string_delimiter_.front() ? 1 : 0;
    } else {
        ++delimiter_bytes_;
    }
    if (delimiter_bytes_ < string_delimiter_.size())
        return;
    delimiter_bytes_ = 0;
    is_plain_ = false;
    quote_ = quote_ == 0 ? '"' : '\0';
}

std::optional<std::string> keywords_to_json(std::string_view text) {
    Converter converter(text, {});
    if (!converter.keywords())
        return std::nullopt;
    return std::move(converter.json);
}

std::optional<std::string> literal_to_json(std::string_view text) {
    Converter converter(text, {});
    if (!converter.value(NotationScanner::max_depth) || !converter.at_end())
        return std::nullopt;
    return std::move(converter.json);
}

std::optional<std::string> dictionary_to_json(std::string_view text, std::string_view string_delimiter) {
    Converter converter(text, string_delimiter);
    if (!trim(text).starts_with('{') || !converter.value(NotationScanner::max_depth) || !converter.at_end())
        return std::nullopt;
    return std::move(converter.json);
}

} // namespace etna::output
