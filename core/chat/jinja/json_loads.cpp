#include "core/chat/jinja/json_loads.hpp"

#include "core/chat/jinja/errors.hpp"
#include "core/chat/jinja/number_text.hpp"
#include "core/chat/jinja/numbers.hpp"
#include "core/chat/jinja/unicode.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::chat::jinja {
namespace {

constexpr std::string_view digits = "0123456789";

/// Reads one value after the other, as far as each goes.
class Reader {
public:
    Reader(std::string_view text, std::size_t nesting_max) : text_(text), nesting_max_(nesting_max) {}

    Result<Value> whole() {
        if (text_.starts_with("\xEF\xBB\xBF"))
            return error("Unexpected UTF-8 BOM (decode using utf-8-sig)", 0);
        skip_space();
        ETNA_TRY(Value result, value());
        skip_space();
        if (at_ < text_.size())
            return error("Extra data", at_);
        return result;
    }

private:
    /// Places are told in characters; lines end with \n alone.
    [[nodiscard]] Error error(std::string_view what, std::size_t at) const {
        const std::string_view before = text_.substr(0, at);
        const std::size_t line_end = before.rfind('\n'); // npos + 1 is 0
        return python_error("JSONDecodeError", fmt::format("{}: line {} column {} (char {})", what,
                                                           std::count(before.begin(), before.end(), '\n') + 1,
                                                           count_code_points(before.substr(line_end + 1)) + 1,
                                                           count_code_points(before)));
    }

    [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }

    /// Goes on behind the word if it stands here.
    bool take(std::string_view word) {
        const bool stands = text_.substr(at_).starts_with(word);
        at_ += stands ? word.size() : 0;
        return stands;
    }

    Result<Value> value() {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        switch (here()) {
        case '"':
            return string();
        case '{':
        case '[':
            return container();
        default:
            break;
        }
        if (take("null"))
            return Value(None{});
        if (take("true"))
            return Value(true);
        if (take("false"))
            return Value(false);
        if (take("NaN"))
            return Value(std::numeric_limits<double>::quiet_NaN());
        if (take("Infinity"))
            return Value(infinity);
        if (take("-Infinity"))
            return Value(-infinity);
        return number();
    }

    Result<Value> container() {
        if (depth_ == nesting_max_)
            return python_error("RecursionError", "maximum recursion depth exceeded while decoding JSON");
        ++depth_;
        auto result = here() == '{' ? object() : array();
        --depth_;
        return result;
    }

    Result<Value> array() {
        std::vector<Value> items;
        ++at_;
        skip_space();
        if (take("]"))
            return Value::list({});
        while (true) {
            ETNA_TRY(Value item, value());
            items.push_back(std::move(item));
            skip_space();
            if (take("]"))
                return Value::list(std::move(items));
            ETNA_CHECK(comma());
        }
    }

    Result<Value> object() {
        std::vector<std::pair<std::string, Value>> entries;
        ++at_;
        skip_space();
        if (take("}"))
            return Value::dict({});
        while (true) {
            if (here() != '"')
                return error("Expecting property name enclosed in double quotes", at_);
            ETNA_TRY(const Value key, string());
            skip_space();
            if (!take(":"))
                return error("Expecting ':' delimiter", at_);
            skip_space();
            ETNA_TRY(Value item, value());
            entries.emplace_back(key.string(), std::move(item));
            skip_space();
            if (take("}"))
                return Value::dict(std::move(entries));
            ETNA_CHECK(comma());
        }
    }

    Status comma() {
        if (!take(","))
            return error("Expecting ',' delimiter", at_);
        skip_space();
        return {};
    }

    /// Where nothing else begins: what is no number either is what should be there.
    Result<Value> number() {
        const std::size_t begin = at_;
        std::size_t end = begin + (here() == '-' ? 1 : 0);
        const std::size_t first = end;
        end = digits_end(end);
        if (end == first)
            return error("Expecting value", begin);
        if (text_[first] == '0')
            end = first + 1;
        const std::size_t whole_end = end;
        if (end + 1 < text_.size() && text_[end] == '.' && digits_end(end + 1) > end + 1)
            end = digits_end(end + 1);
        if (end < text_.size() && (text_[end] | 0x20) == 'e') {
            const std::size_t sign =
                end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+') ? 1 : 0;
            if (const std::size_t power = end + 1 + sign; digits_end(power) > power)
                end = digits_end(power);
        }
        at_ = end;
        const std::string_view text = text_.substr(begin, end - begin);
        if (end > whole_end)
            return Value(parse_real(text).value_or(0));
        if (end - first > integer_digits_max) {
            return value_error(fmt::format(
                "Exceeds the limit ({} digits) for integer string conversion: value has {} digits; "
                "use sys.set_int_max_str_digits() to increase the limit",
                integer_digits_max, end - first));
        }
        return integer_value(text == "-0" ? "0" : std::string(text));
    }

    [[nodiscard]] std::size_t digits_end(std::size_t from) const {
        return std::min(text_.find_first_not_of(digits, from), text_.size());
    }

    Result<Value> string() {
        const std::size_t begin = at_++;
        std::string out;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                ++at_;
                return Value(out);
            }
            if (static_cast<unsigned char>(c) < ' ')
                return error("Invalid control character at", at_);
            if (c != '\\') {
                out += c;
                ++at_;
            } else if (at_ + 1 == text_.size()) {
                break;
            } else {
                ETNA_CHECK(escape(out));
            }
        }
        return error("Unterminated string starting at", begin);
    }

    Status escape(std::string& out) {
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        const char letter = text_[at_ + 1];
        if (const std::size_t known = letters.find(letter); known != std::string_view::npos) {
            out += meanings[known];
            at_ += 2;
            return {};
        }
        if (letter != 'u')
            return error("Invalid \\escape", at_);
        const auto unit = code_unit(at_);
        if (!unit)
            return error("Invalid \\uXXXX escape", at_ + 1);
        at_ += escape_bytes;
        append_unit(out, *unit);
        return {};
    }

    /// What a \uXXXX at `at` says; nothing where none stands there, with something behind it.
    [[nodiscard]] std::optional<uint32_t> code_unit(std::size_t at) const {
        const std::string_view escape = text_.substr(std::min(at, text_.size()), escape_bytes);
        uint32_t unit = 0;
        if (at + escape_bytes >= text_.size() || !escape.starts_with("\\u") ||
            std::from_chars(escape.data() + 2, escape.data() + escape_bytes, unit, 16).ptr !=
                escape.data() + escape_bytes)
            return {};
        return unit;
    }

    /// With the second half of a pair, if it follows.
    void append_unit(std::string& out, uint32_t unit) {
        const bool is_high = unit >= 0xD800 && unit < 0xDC00;
        const auto low = is_high ? code_unit(at_) : std::nullopt;
        if (!low || *low < 0xDC00 || *low >= 0xE000)
            return append_utf8(out, unit);
        at_ += escape_bytes;
        append_utf8(out, 0x10000 + ((unit - 0xD800) << 10) + (*low - 0xDC00));
    }

    static constexpr std::size_t escape_bytes = 6;

    std::string_view text_;
    std::size_t nesting_max_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
};

} // namespace

Result<Value> json_loads(std::string_view text, std::size_t nesting_max) {
    return Reader(text, nesting_max).whole();
}

} // namespace etna::chat::jinja
