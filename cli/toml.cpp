#include "cli/toml.hpp"

#include "cli/quote.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli::toml {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_bare(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/// Moves digits, with single underscores between them, from the front of `text` to the end of `digits`.
bool take_digits(std::string_view& text, std::string& digits) {
    const std::size_t before = digits.size();
    while (!text.empty() && is_digit(text.front())) {
        digits += text.front();
        text.remove_prefix(1);
        if (text.size() > 1 && text.front() == '_' && is_digit(text[1]))
            text.remove_prefix(1);
    }
    return digits.size() > before;
}

bool take_sign(std::string_view& text, std::string& digits) {
    if (text.empty() || (text.front() != '+' && text.front() != '-'))
        return false;
    if (text.front() == '-')
        digits += '-';
    text.remove_prefix(1);
    return true;
}

std::optional<Scalar> decimal(std::string_view text) {
    Scalar result{ScalarKind::integer, {}};
    take_sign(text, result.text);
    if (text == "inf" || text == "nan")
        return Scalar{ScalarKind::number, result.text + std::string(text)};
    const bool leading_zero = text.size() > 1 && text[0] == '0' && (is_digit(text[1]) || text[1] == '_');
    if (leading_zero || !take_digits(text, result.text))
        return std::nullopt;
    if (!text.empty() && text.front() == '.') {
        result.kind = ScalarKind::number;
        result.text += '.';
        text.remove_prefix(1);
        if (!take_digits(text, result.text))
            return std::nullopt;
    }
    if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
        result.kind = ScalarKind::number;
        result.text += 'e';
        text.remove_prefix(1);
        take_sign(text, result.text);
        if (!take_digits(text, result.text))
            return std::nullopt;
    }
    return text.empty() ? std::optional(result) : std::nullopt;
}

/// Appends a code point in UTF-8; false when there is no such character.
bool append_utf8(std::string& text, uint32_t point) {
    constexpr uint32_t low_six = 0x3f;
    const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return false;
    if (point < 0x80) {
        add(point);
    } else if (point < 0x800) {
        add(0xc0 | point >> 6);
        add(0x80 | (point & low_six));
    } else {
        if (point < 0x10000) {
            add(0xe0 | point >> 12);
        } else {
            add(0xf0 | point >> 18);
            add(0x80 | (point >> 12 & low_six));
        }
        add(0x80 | (point >> 6 & low_six));
        add(0x80 | (point & low_six));
    }
    return true;
}

class Reader {
public:
    Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {
        constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
        if (text_.starts_with(byte_order_mark))
            text_.remove_prefix(byte_order_mark.size());
    }

    Result<std::vector<Item>> read() {
        while (skip_lines(), !text_.empty()) {
            ETNA_CHECK(front() == '[' ? read_table() : read_item());
            skip_blanks();
            if (front() == '#')
                skip_comment();
            if (!text_.empty() && front() != '\n')
                return problem("only one value, and no text after it, may stand in a line");
        }
        return std::move(items_);
    }

private:
    [[nodiscard]] Error problem(std::string_view what) const {
        return {ErrorKind::invalid_argument, fmt::format("{}:{}: {}", name_, line_, what)};
    }

    [[nodiscard]] char front() const { return text_.empty() ? '\0' : text_.front(); }

    char take() {
        const char c = text_.front();
        line_ += c == '\n' ? 1 : 0;
        text_.remove_prefix(1);
        return c;
    }

    void skip_blanks() {
        while (front() == ' ' || front() == '\t' || text_.starts_with("\r\n")) // the \n itself stays
            take();
    }

    void skip_comment() { text_.remove_prefix(std::min(text_.find('\n'), text_.size())); }

    /// Everything between two items, or two elements of an array.
    void skip_lines() {
        while (skip_blanks(), front() == '\n' || front() == '#') {
            if (front() == '#') {
                skip_comment();
            } else {
                take();
            }
        }
    }

    Result<std::vector<std::string>> read_path() {
        std::vector<std::string> path;
        while (true) {
            skip_blanks();
            if (front() == '"' || front() == '\'') {
                ETNA_TRY(Scalar quoted, read_string());
                path.push_back(std::move(quoted.text));
            } else {
                const auto* end = std::find_if_not(text_.begin(), text_.end(), is_bare);
                const auto size = static_cast<std::size_t>(end - text_.begin());
                if (size == 0)
                    return problem("a key is expected");
                path.emplace_back(text_.substr(0, size));
                text_.remove_prefix(size);
            }
            skip_blanks();
            if (front() != '.')
                return path;
            take();
        }
    }

    Status read_table() {
        take();
        ETNA_TRY(table_, read_path());
        if (front() != ']')
            return problem("a table's name stands between [ and ]");
        take();
        if (!tables_.insert(table_).second) {
            return problem(
                fmt::format("table {} appears twice", backquoted(fmt::to_string(fmt::join(table_, ".")))));
        }
        return {};
    }

    Status read_item() {
        Item item{.path = table_, .form = Form::scalar, .values = {}, .line = line_};
        ETNA_TRY(const auto key, read_path());
        item.path.insert(item.path.end(), key.begin(), key.end());
        const std::string shown = backquoted(fmt::to_string(fmt::join(key, ".")));
        if (front() != '=')
            return problem(fmt::format("{} has no value: `key = value` is expected", shown));
        take();
        skip_blanks();
        if (!keys_.insert(item.path).second)
            return problem(fmt::format("key {} appears twice", shown));
        if (front() == '[') {
            item.form = Form::array;
            ETNA_TRY(item.values, read_array());
        } else {
            ETNA_TRY(Scalar value, read_scalar());
            item.values.push_back(std::move(value));
        }
        items_.push_back(std::move(item));
        return {};
    }

    Result<std::vector<Scalar>> read_array() {
        take();
        std::vector<Scalar> values;
        while (skip_lines(), front() != ']') {
            ETNA_TRY(Scalar value, read_scalar());
            values.push_back(std::move(value));
            skip_lines();
            if (front() == ',') {
                take();
            } else if (front() != ']') {
                return problem("the array does not end in ]");
            }
        }
        take();
        return values;
    }

    Result<Scalar> read_scalar() {
        if (front() == '"' || front() == '\'')
            return read_string();
        if (front() == '[' || front() == '{')
            return problem("no option takes an array inside an array, or a table in braces");
        const std::size_t end = std::min(text_.find_first_of(" \t\r\n,]#"), text_.size());
        const std::string_view word = text_.substr(0, end);
        text_.remove_prefix(end);
        if (word.empty())
            return problem("a value is missing");
        if (word == "true" || word == "false")
            return Scalar{ScalarKind::boolean, std::string(word)};
        if (auto number = decimal(word))
            return std::move(*number);
        return problem(
            fmt::format("{} is not a decimal number, true, false or text in quotes", backquoted(word)));
    }

    Result<Scalar> read_string() {
        if (text_.starts_with("\"\"\"") || text_.starts_with("'''"))
            return problem("strings of several lines are not read; write \\n for the end of a line");
        const char quote = take();
        Scalar result;
        while (front() != quote) {
            if (text_.empty() || front() == '\n' || text_.starts_with("\r\n"))
                return problem("a string does not end on its line");
            const char c = take();
            if (c == '\\' && quote == '"') {
                ETNA_CHECK(read_escape(result.text));
            } else {
                result.text += c;
            }
        }
        take();
        return result;
    }

    Status read_escape(std::string& text) {
        constexpr std::string_view letters = "btnfr\"\\";
        constexpr std::string_view meanings = "\b\t\n\f\r\"\\";
        const char letter = text_.empty() ? '\0' : take();
        if (const std::size_t found = letters.find(letter); found != std::string_view::npos) {
            text += meanings[found];
            return {};
        }
        uint32_t point = 0;
        std::size_t digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
        bool valid = digits != 0;
        for (; valid && digits > 0; --digits) {
            const std::size_t value =
                std::string_view("0123456789abcdef")
                    .find(
                        static_cast<char>(front() >= 'A' && front() <= 'F' ? front() - 'A' + 'a' : front()));
            valid = value != std::string_view::npos;
            if (valid) {
                point = point << 4 | static_cast<uint32_t>(value);
                take();
            }
        }
        if (!valid || !append_utf8(text, point)) {
            return problem(
                "a string has a backslash that means nothing; in single quotes it stands for itself");
        }
        return {};
    }

    std::string_view text_; ///< what is left
    std::string_view name_;
    uint32_t line_ = 1;
    std::vector<std::string> table_;
    std::set<std::vector<std::string>> keys_, tables_;
    std::vector<Item> items_;
};

} // namespace

Result<std::vector<Item>> read(std::string_view text, std::string_view name) {
    return Reader(text, name).read();
}

} // namespace etna::cli::toml
