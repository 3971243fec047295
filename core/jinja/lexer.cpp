#include "core/jinja/lexer.hpp"

#include "core/jinja/machine.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

/// Converts universal newlines to \n and removes a trailing one.
std::string normalized(std::string_view source) {
    std::string text;
    text.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r') {
            text += source[i];
            continue;
        }
        text += '\n';
        if (i + 1 < source.size() && source[i + 1] == '\n')
            ++i;
    }
    if (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

bool is_space_at(std::string_view text, std::size_t position) {
    return is_space(decode_at(text, position).code_point);
}

std::size_t skip_spaces(std::string_view text, std::size_t position) {
    while (position < text.size() && is_space_at(text, position))
        position += decode_at(text, position).bytes;
    return position;
}

/// Reads a code point of exactly `digits` hexadecimal digits.
std::optional<uint32_t> code_point_at(std::string_view text, std::size_t position, std::size_t digits) {
    const std::string_view number = text.substr(std::min(position, text.size()), digits);
    uint32_t code_point = 0;
    const auto result = std::from_chars(number.data(), number.data() + number.size(), code_point, 16);
    const bool is_valid = number.size() == digits && result.ptr == number.data() + digits;
    return is_valid && code_point <= 0x10FFFF ? std::optional(code_point) : std::nullopt;
}

/// Resolves the escape at `position` (of the backslash); returns the offset after it, or nothing if it is not
/// supported.
std::optional<std::size_t> append_escape(std::string& out, std::string_view text, std::size_t position) {
    constexpr std::string_view letters = "\\'\"abfnrtv";
    constexpr std::string_view meanings = "\\'\"\a\b\f\n\r\t\v";
    const char letter = text[position + 1];
    if (const std::size_t known = letters.find(letter); known != std::string_view::npos) {
        out += meanings[known];
        return position + 2;
    }
    if (letter == '\n')
        return position + 2;
    if (letter == 'N' || (letter >= '0' && letter <= '7') || static_cast<uint8_t>(letter) >= 0x80)
        return {};
    const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits == 0) {
        out += '\\';
        return position + 1;
    }
    const auto code_point = code_point_at(text, position + 2, digits);
    if (!code_point || (*code_point >= 0xD800 && *code_point < 0xE000))
        return {};
    append_utf8(out, *code_point);
    return position + 2 + digits;
}

/// Appends the value of a string literal with content `raw`: resolves Python's escapes, except those by
/// character name, by octal number and of surrogates. Returns the offset of the first invalid escape.
std::optional<std::size_t> append_unescaped(std::string& out, std::string_view raw) {
    for (std::size_t position = 0; position < raw.size();) {
        if (raw[position] != '\\') {
            out += raw[position++];
            continue;
        }
        const auto next = append_escape(out, raw, position);
        if (!next)
            return position;
        position = *next;
    }
    return {};
}

class Lexer {
public:
    explicit Lexer(std::string_view source) : source_(normalized(source)) {}

    Result<std::vector<Token>> run();

private:
    struct Tag {
        char kind = 0;           ///< '%', '{' or '#'
        std::size_t at = 0;      ///< offset of the opening brace
        std::size_t content = 0; ///< offset after the white space control sign
        char control = 0;        ///< '-', '+' or 0
    };

    [[nodiscard]] std::optional<Tag> next_tag() const;
    [[nodiscard]] Position position_of(std::size_t offset);
    void add(TokenType type, std::size_t at, std::string text = {}, Value number = {});
    void add_data(std::size_t from, const Tag* tag);
    Status skip_comment(const Tag& tag);
    [[nodiscard]] std::optional<std::size_t> after_word(const Tag& tag, std::string_view word) const;
    Result<bool> raw_block(const Tag& tag);
    Status tag_content(const Tag& tag);
    Status add_token();
    Status add_sign();
    Status add_string();
    Status add_number();
    void add_name();
    [[nodiscard]] std::optional<std::size_t> closing(std::size_t position, char kind) const;
    [[nodiscard]] std::size_t after_close(std::size_t position, char kind, char control) const;
    [[nodiscard]] char at(std::size_t position) const {
        return position < source_.size() ? source_[position] : '\0';
    }

    std::string source_;
    std::size_t position_ = 0;
    bool line_starts_ = true; ///< after a tag that ends with a newline, and at the start
    std::string open_brackets_;
    std::vector<Token> tokens_;
    std::size_t counted_offset_ = 0; ///< offset of `counted_`
    Position counted_;
};

Position Lexer::position_of(std::size_t offset) {
    if (offset < counted_offset_) {
        counted_offset_ = 0;
        counted_ = {};
    }
    while (counted_offset_ < offset) {
        const Decoded decoded = decode_at(source_, counted_offset_);
        counted_offset_ += decoded.bytes;
        ++counted_.column;
        if (decoded.code_point == '\n')
            counted_ = {counted_.line + 1, 1};
    }
    return counted_;
}

void Lexer::add(TokenType type, std::size_t at, std::string text, Value number) {
    tokens_.push_back({type, position_of(at), std::move(text), std::move(number)});
}

std::optional<Lexer::Tag> Lexer::next_tag() const {
    for (std::size_t at = source_.find('{', position_); at != std::string::npos;
         at = source_.find('{', at + 1)) {
        const char kind = this->at(at + 1);
        if (kind != '%' && kind != '{' && kind != '#')
            continue;
        const char control = this->at(at + 2);
        const bool has_control = control == '-' || control == '+';
        return Tag{kind, at, at + 2 + (has_control ? 1 : 0), has_control ? control : '\0'};
    }
    return {};
}

/// Adds the data from `from` to the tag (to the end if null), stripped as the tag specifies.
void Lexer::add_data(std::size_t from, const Tag* tag) {
    const std::string_view rest(source_);
    std::string_view text = rest.substr(from, tag != nullptr ? tag->at - from : std::string_view::npos);
    if (tag != nullptr && tag->control == '-') {
        text = stripped(text, {}, Side::right);
    } else if (tag != nullptr && tag->control != '+' && tag->kind != '{') {
        const std::size_t newline = text.rfind('\n');
        const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
        if ((line > 0 || line_starts_) && skip_spaces(text, line) == text.size())
            text = text.substr(0, line);
    }
    if (!text.empty())
        add(TokenType::data, from, std::string(text));
}

/// Returns the offset of the closing brackets of `kind` at `position`, after an optional control sign.
std::optional<std::size_t> Lexer::closing(std::size_t position, char kind) const {
    const char first = kind == '{' ? '}' : kind;
    const bool has_control = at(position) == '-' || (at(position) == '+' && kind != '{');
    const std::size_t begin = position + (has_control ? 1 : 0);
    if (at(begin) == first && at(begin + 1) == '}')
        return begin;
    return {};
}

/// Returns the offset after closing brackets at `position`: trim_blocks skips one newline, - all white space.
std::size_t Lexer::after_close(std::size_t position, char kind, char control) const {
    position += 2;
    if (control == '-')
        return skip_spaces(source_, position);
    return kind != '{' && control != '+' && at(position) == '\n' ? position + 1 : position;
}

Status Lexer::skip_comment(const Tag& tag) {
    if (tag.content == source_.size()) { // as in the reference, the end is required only if something follows
        position_ = tag.content;
        return {};
    }
    const std::size_t end = source_.find("#}", tag.content);
    if (end == std::string::npos)
        return syntax_error(position_of(tag.at), "Missing end of comment tag");
    const char before = end > tag.content ? source_[end - 1] : '\0';
    position_ = after_close(end, '#', before);
    line_starts_ = source_[position_ - 1] == '\n';
    return {};
}

/// Returns the offset after the word of a tag that has only this word; nothing for other tags.
std::optional<std::size_t> Lexer::after_word(const Tag& tag, std::string_view word) const {
    const std::size_t begin = skip_spaces(source_, tag.content);
    const std::size_t end = skip_spaces(source_, begin + word.size());
    const bool has_word = tag.kind == '%' && source_.compare(begin, word.size(), word) == 0;
    return has_word && closing(end, '%') ? std::optional(end) : std::nullopt;
}

/// Whether the tag opens a raw block; if so, adds its text and skips it.
Result<bool> Lexer::raw_block(const Tag& tag) {
    const auto opened = after_word(tag, "raw");
    if (!opened || at(*opened) == '+')
        return false;
    const std::size_t begin = after_close(*closing(*opened, '%'), '%', at(*opened) == '-' ? '-' : '+');
    position_ = begin;
    line_starts_ = source_[begin - 1] == '\n';
    while (const auto end_tag = next_tag()) {
        position_ = end_tag->at + 1;
        const auto ended = after_word(*end_tag, "endraw");
        if (!ended)
            continue;
        add_data(begin, &*end_tag);
        position_ = after_close(*closing(*ended, '%'), '%', at(*ended));
        line_starts_ = source_[position_ - 1] == '\n';
        return true;
    }
    if (begin == source_.size()) // as in the reference, the end is required only if something follows
        return true;
    return syntax_error(position_of(tag.at), "Missing end of raw directive");
}

Status Lexer::tag_content(const Tag& tag) {
    const bool is_block = tag.kind == '%';
    add(is_block ? TokenType::block_begin : TokenType::variable_begin, tag.at);
    position_ = tag.content;
    open_brackets_.clear();
    while (true) {
        if (open_brackets_.empty()) {
            if (const auto close = closing(position_, tag.kind)) {
                add(is_block ? TokenType::block_end : TokenType::variable_end, position_);
                position_ = after_close(*close, tag.kind, *close == position_ ? '\0' : at(position_));
                line_starts_ = source_[position_ - 1] == '\n';
                return {};
            }
        }
        if (position_ >= source_.size())
            return {}; // the parser reports the missing end
        if (is_space_at(source_, position_)) {
            position_ = skip_spaces(source_, position_);
        } else {
            ETNA_CHECK(add_token());
        }
    }
}

Status Lexer::add_token() {
    const char32_t code_point = decode_at(source_, position_).code_point;
    if (code_point >= '0' && code_point <= '9')
        return add_number();
    if (is_name_start(code_point)) {
        add_name();
        return {};
    }
    if (code_point == '\'' || code_point == '"')
        return add_string();
    return add_sign();
}

void Lexer::add_name() {
    const std::size_t begin = position_;
    while (position_ < source_.size()) {
        const Decoded decoded = decode_at(source_, position_);
        if (!is_name_part(decoded.code_point))
            break;
        position_ += decoded.bytes;
    }
    add(TokenType::name, begin, source_.substr(begin, position_ - begin));
}

Status Lexer::add_sign() {
    const std::string_view two = std::string_view(source_).substr(position_, 2);
    const bool is_pair =
        two == "//" || two == "**" || two == "==" || two == "!=" || two == ">=" || two == "<=";
    const std::string sign(two.substr(0, is_pair ? 2 : 1));
    if (!is_pair && std::string_view("+-/*%~[](){}><=.:|,;").find(sign) == std::string_view::npos) {
        std::string text;
        append_utf8(text, decode_at(source_, position_).code_point);
        return syntax_error(position_of(position_), fmt::format("unexpected char '{}'", text));
    }
    if (sign == "(" || sign == "[" || sign == "{") {
        open_brackets_ += sign == "(" ? ')' : sign == "[" ? ']' : '}';
    } else if (sign == ")" || sign == "]" || sign == "}") {
        if (open_brackets_.empty())
            return syntax_error(position_of(position_), fmt::format("unexpected '{}'", sign));
        if (open_brackets_.back() != sign[0]) {
            return syntax_error(position_of(position_),
                                fmt::format("unexpected '{}', expected '{}'", sign, open_brackets_.back()));
        }
        open_brackets_.pop_back();
    }
    add(TokenType::sign, position_, sign);
    position_ += sign.size();
    return {};
}

Status Lexer::add_string() {
    const std::size_t begin = position_;
    const char quote = source_[begin];
    std::size_t end = begin + 1;
    while (at(end) != quote || end >= source_.size()) {
        if (end >= source_.size()) {
            return syntax_error(position_of(begin),
                                fmt::format("unexpected char {}", quote == '"' ? "'\"'" : "\"'\""));
        }
        end += source_[end] == '\\' ? 2 : 1;
    }
    const std::string_view raw = std::string_view(source_).substr(begin + 1, end - begin - 1);
    std::string text;
    if (const auto bad = append_unescaped(text, raw)) {
        return syntax_error(position_of(begin + 1 + *bad),
                            "truncated, impossible or unsupported \\ escape in a string");
    }
    add(TokenType::string, begin, std::move(text));
    position_ = end + 1;
    return {};
}

Status Lexer::add_number() {
    const std::size_t begin = position_;
    const auto skip_digits = [&](std::size_t from) {
        return std::min(source_.find_first_not_of("0123456789", from), source_.size());
    };
    std::size_t end = skip_digits(begin);
    if (at(end) == '_' || (source_[begin] == '0' && std::string_view("xXoObB").find(at(end)) < 6)) {
        while (end < source_.size() && is_name_part(decode_at(source_, end).code_point))
            end += decode_at(source_, end).bytes;
        return refusal(position_of(begin), "number", source_.substr(begin, end - begin));
    }
    bool is_real = false;
    const bool after_dot = begin > 0 && at(begin - 1) == '.'; // `x.0.1` is two lookups
    if (!after_dot) {
        if (at(end) == '.' && skip_digits(end + 1) > end + 1) {
            end = skip_digits(end + 1);
            is_real = true;
        }
        const std::size_t sign = at(end + 1) == '+' || at(end + 1) == '-' ? 1 : 0;
        if ((at(end) | 0x20) == 'e' && skip_digits(end + 1 + sign) > end + 1 + sign) {
            end = skip_digits(end + 1 + sign);
            is_real = true;
        }
    }
    position_ = end;
    std::string text = source_.substr(begin, end - begin);
    Value number = is_real ? Value(parse_real(text).value_or(0)) : integer_value(text);
    if (number.is(Type::large))
        return refusal(position_of(begin), "number", text);
    add(is_real ? TokenType::real : TokenType::integer, begin, std::move(text), std::move(number));
    return {};
}

Result<std::vector<Token>> Lexer::run() {
    while (const auto tag = next_tag()) {
        add_data(position_, &*tag);
        if (tag->kind == '#') {
            ETNA_CHECK(skip_comment(*tag));
            continue;
        }
        ETNA_TRY(const bool was_raw, raw_block(*tag));
        if (!was_raw)
            ETNA_CHECK(tag_content(*tag));
    }
    if (position_ < source_.size())
        add_data(position_, nullptr);
    add(TokenType::end, source_.size());
    return std::move(tokens_);
}

} // namespace

std::string to_string(Position at) {
    return fmt::format("line {}, column {}", at.line, at.column);
}

Error syntax_error(Position at, std::string_view message) {
    return {.kind = ErrorKind::corrupt,
            .message = fmt::format("template: {}: {}", to_string(at), message),
            .hint = "the chat template is not valid Jinja; give another one with --chat-template"};
}

Error refusal(Position at, std::string_view kind, std::string_view name) {
    return {.kind = ErrorKind::corrupt,
            .message = fmt::format("template: {}: the {} '{}' is not supported", to_string(at), kind, name),
            .hint = "man etna-templates lists what templates may use; give another one with --chat-template"};
}

Result<std::vector<Token>> tokenize(std::string_view source) {
    return Lexer(source).run();
}

} // namespace etna::jinja
