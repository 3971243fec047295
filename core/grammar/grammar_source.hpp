#pragma once

#include "core/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Private to core/grammar: the text of a grammar while it is parsed, in any notation.
namespace etna::grammar {

class GrammarSource {
public:
    /// Borrows both. `hint`: the form of a rule, for errors.
    GrammarSource(std::string_view text, std::string_view hint) : text_(text), hint_(hint) {}

    /// Errors: invalid_argument (not UTF-8).
    [[nodiscard]] Status check() const;

    /// An error at `place`, with line and column; by default at the current position.
    [[nodiscard]] Error wrong(std::string_view what, std::optional<std::size_t> place = {}) const;

    [[nodiscard]] std::size_t at() const { return at_; }
    void go_to(std::size_t place) { at_ = place; }
    void skip(std::size_t bytes) { at_ += bytes; }
    void skip_line();

    [[nodiscard]] bool is_at_end() const { return at_ == text_.size(); }
    /// The next byte; 0 at the end.
    [[nodiscard]] char next() const { return is_at_end() ? '\0' : text_[at_]; }
    [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
    [[nodiscard]] bool sees(std::string_view part) const { return rest().starts_with(part); }
    bool take(std::string_view part);

    /// Takes the longest run of bytes that `is_part` accepts.
    template <class IsPart>
    std::string_view run(const IsPart& is_part) {
        const std::size_t begin = at_;
        while (!is_at_end() && is_part(text_[at_]))
            ++at_;
        return text_.substr(begin, at_ - begin);
    }

    /// Takes a decimal number; empty if there is no digit here. Errors: invalid_argument (too large).
    Result<std::optional<uint32_t>> count();

    /// Takes one character: itself, or after `\` one of `letters`, which means the corresponding one of
    /// `meanings`, or \xhh, \uhhhh, \Uhhhhhhhh. Errors: invalid_argument.
    Result<char32_t> character(std::string_view letters, std::string_view meanings);

private:
    Result<char32_t> escape(std::string_view letters, std::string_view meanings);

    std::string_view text_;
    std::string_view hint_;
    std::size_t at_ = 0;
};

} // namespace etna::grammar
