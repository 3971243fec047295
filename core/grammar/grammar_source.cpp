#include "core/grammar/grammar_source.hpp"

#include "core/base/utf8.hpp"
#include "core/grammar/code_points.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

constexpr uint32_t count_max = 1'000'000'000;

} // namespace

Status GrammarSource::check() const {
    if (valid_utf8_prefix(text_) != text_.size())
        return Error{ErrorKind::invalid_argument, "the grammar is no UTF-8"};
    return {};
}

Error GrammarSource::wrong(std::string_view what, std::optional<std::size_t> place) const {
    const std::size_t at = place.value_or(at_);
    const auto before = text_.substr(0, at);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t column = at - (before.rfind('\n') + 1) + 1; // npos + 1 is 0
    return {ErrorKind::invalid_argument,
            fmt::format("the grammar, line {}, column {}: {}", line, column, what), std::string(hint_)};
}

void GrammarSource::skip_line() {
    at_ = std::min(text_.find('\n', at_), text_.size());
}

bool GrammarSource::take(std::string_view part) {
    const bool is_there = sees(part);
    at_ += is_there ? part.size() : 0;
    return is_there;
}

Result<std::optional<uint32_t>> GrammarSource::count() {
    std::optional<uint32_t> value;
    for (; next() >= '0' && next() <= '9'; ++at_) {
        value = value.value_or(0) * 10 + static_cast<uint32_t>(next() - '0');
        if (*value > count_max / 10)
            return wrong("the count is too large");
    }
    return value;
}

Result<char32_t> GrammarSource::character(std::string_view letters, std::string_view meanings) {
    if (take("\\"))
        return escape(letters, meanings);
    if (is_at_end())
        return wrong("a character is missing");
    const std::size_t bytes = next_utf8(rest()).bytes;
    const char32_t letter = code_point_of(rest(), bytes);
    at_ += bytes;
    return letter;
}

Result<char32_t> GrammarSource::escape(std::string_view letters, std::string_view meanings) {
    const char letter = next();
    if (const auto known = letters.find(letter); !is_at_end() && known != std::string_view::npos) {
        ++at_;
        return static_cast<char32_t>(meanings[known]);
    }
    const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits == 0)
        return wrong("the escape is unknown");
    ++at_;
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
        const auto digit = std::string_view("0123456789abcdef").find(static_cast<char>(next() | 0x20));
        if (digit == std::string_view::npos)
            return wrong("a hexadecimal digit is missing");
        value = value * 16 + static_cast<char32_t>(digit);
    }
    if (value > code_point_max || (value >= 0xD800 && value <= 0xDFFF))
        return wrong("the escape is no character");
    return value;
}

} // namespace etna::grammar
