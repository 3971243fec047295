#pragma once

#include "core/grammar/code_points.hpp"
#include "core/grammar/language.hpp"
#include "core/grammar/schema/constraints.hpp"
#include "core/grammar/schema/document.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::grammar {

/// The notation of strings.
struct StringForm {
    enum class Escapes : uint8_t { json, none };

    Escapes escapes = Escapes::json;
    Expression open = empty; ///< before and after a string
    Expression close = empty;
    std::vector<std::string> without = {}; ///< texts that no string may contain; see Writing::not_in_strings
    std::optional<Automaton> among = {};   ///< the only allowed texts; empty: all
};

/// Compiles strings. Borrows `language` and `document`; not thread-safe.
class SchemaStrings {
public:
    /// `dropped`: as KeywordContext::dropped.
    SchemaStrings(Language& language, const SchemaDocument& document, DroppedKeywords* dropped,
                  StringForm form);

    /// Strings that satisfy the constraints, with their quotes. Errors: unsupported (a pattern, format or
    /// grammar that cannot be enforced; two grammars, or one combined with many other keywords; too large),
    /// invalid_argument (not a regular expression, not a grammar).
    Result<Expression> quoted(const StringConstraints& constraints);
    /// The same, without quotes. Errors: the same, and unsupported (any grammar: not all are automata).
    Result<Automaton> automaton(const StringConstraints& constraints);
    /// The strings, without quotes, that match a pattern or have a format; null if that is not enforced.
    /// Lives as long as this object. Errors: as automaton().
    Result<const Automaton*> matching(const StringConstraints::Text& text);

    /// `content` between quotes, as one unit.
    Expression quoted(Expression content);
    /// Returns a text as written between the quotes; empty if it cannot be.
    [[nodiscard]] std::optional<std::string> written(const std::string& text) const;
    /// All strings, without quotes, except those of `excluded`. Errors: unsupported (one of them is longer
    /// than excluded_length_max, or all together are longer than excluded_lengths_max).
    Result<Expression> all_but(const std::vector<std::string>& excluded);

    static constexpr std::size_t excluded_length_max = 1000; ///< characters
    static constexpr std::size_t excluded_lengths_max = 150'000;

private:
    using Text = StringConstraints::Text;

    Result<Expression> content(const StringConstraints& constraints);
    Result<Expression> counted(const StringConstraints& constraints);
    Result<std::vector<Text>> saying(const std::vector<Text>& texts);
    [[nodiscard]] Error with_place(const Error& error, const Text& text) const;
    Result<Automaton> matching_all(const std::vector<Text>& texts);
    Result<Expression> one_of(const StringConstraints& constraints);
    Expression of_length(const CountRange& length);
    Expression all_but_words(std::span<const std::u32string> words, std::size_t at);
    Result<std::optional<Expression>> expression_of(const Text& text);
    Result<std::optional<Expression>> new_expression_of(const Text& text);
    [[nodiscard]] const Automaton* cached_automaton(const Text& text) const;
    [[nodiscard]] bool has_excluded(const std::string& text) const;
    Result<bool> fits(const std::string& value, const StringConstraints& constraints);

    Expression character(const CodePoints& set);
    Expression any_character(const CodePoints& set);
    Expression any_character_but(const CodePoints& letters);
    Result<Expression> any_text();
    Result<Automaton> any_automaton();

    // lark_strings.cpp: strings that are texts of a grammar
    Result<Expression> of_grammar(const StringConstraints& constraints, const Text& grammar);
    Result<Expression> one_grammar(const StringConstraints& constraints, const Text& grammar);
    Result<Expression> grammar_texts(const Text& grammar);
    Status check_alone(const std::string& grammar);
    [[nodiscard]] Error not_joined(const Text& grammar, std::string_view other) const;

    Language* language_;
    const SchemaDocument* document_;
    DroppedKeywords* dropped_; ///< null: a keyword that cannot be enforced is an error
    StringForm form_;
    CodePoints excluded_;                         ///< first characters of texts that no string may contain
    Expression character_;                        ///< any character except those
    std::optional<Automaton> characters_of_all_;  ///< any number of any characters
    std::map<CodePoints, Expression> characters_; ///< cache of any_character()
    std::map<CodePoints, Expression> characters_but_; ///< cache of any_character_but()
    using Key = std::pair<Text::Kind, std::string>;
    std::map<Key, std::optional<Expression>> expressions_; ///< cache of expression_of()
    std::map<Key, std::optional<Automaton>> automata_;
    std::map<std::string, Expression> grammars_;
};

/// The grammar that strings must match; or null.
const StringConstraints::Text* grammar_of(const StringConstraints& constraints);
/// Returns the keyword for such a constraint.
std::string_view keyword_of(StringConstraints::Text::Kind kind);
/// The constraints without grammars.
StringConstraints without_grammars(const StringConstraints& constraints);

/// Whether an automaton accepts a text.
bool accepts(const Automaton& automaton, std::string_view text);

} // namespace etna::grammar
