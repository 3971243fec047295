#pragma once

#include "core/base/result.hpp"
#include "core/grammar/language.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

namespace etna::grammar {

/// Maximum depth of nested groups.
constexpr std::size_t group_depth_max = 200;

/// The text of a grammar while it is parsed, in any notation.
class GrammarSource {
public:
    /// Borrows both. `hint`: the form of a rule, for errors.
    GrammarSource(std::string_view text, std::string_view hint) : text_(text), hint_(hint) {}

    /// Errors: invalid_argument (not UTF-8).
    [[nodiscard]] Status check() const;

    /// An error at `position`, with line and column; by default at the current one.
    [[nodiscard]] Error wrong(std::string_view what, std::optional<std::size_t> position = {}) const;

    [[nodiscard]] std::size_t at() const { return at_; }
    void go_to(std::size_t position) { at_ = position; }
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

    /// Takes a decimal number; empty if the next byte is not a digit. Errors: invalid_argument (too large).
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

/// The rules of a grammar, which may be used before they are defined.
class GrammarRules {
public:
    /// Borrows the language.
    explicit GrammarRules(Language& language) : language_(&language) {}

    /// Starts a definition and records the rules that it uses.
    void begin_definition() { parts_.clear(); }

    /// Returns the rule of this name, used at `position`.
    Expression use(std::string_view name, std::size_t position);

    /// Completes the current definition as that of `name`, at `position`. Errors: invalid_argument (already
    /// defined).
    Status end_definition(std::string_view name, Expression definition, const GrammarSource& source,
                          std::size_t position);

    /// Defines all rules in the language and returns `root`. Errors: invalid_argument (a rule, or the root,
    /// is undefined).
    Result<Expression> define_all(std::string_view root, const GrammarSource& source);

private:
    struct Rule {
        Expression expression = nothing;
        std::optional<Expression> definition = {};
        std::set<Expression> parts = {}; ///< rules in the definition
        std::size_t first_seen = 0;      ///< position in the text
    };

    Rule& known(std::string_view name, std::size_t position);
    [[nodiscard]] std::unordered_set<Expression> flat_rules() const;

    Language* language_;
    std::map<std::string, Rule, std::less<>> rules_;
    std::set<Expression> parts_; ///< rules in the current definition
};

} // namespace etna::grammar
