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

/// How strings are written.
struct StringForm {
    enum class Escapes : uint8_t { json, none };

    Escapes escapes = Escapes::json;
    Expression open = empty; ///< before a string, and behind it
    Expression close = empty;
    std::vector<std::string> without = {}; ///< texts that stand in no string; see Writing::not_in_strings
    std::optional<Automaton> among = {};   ///< the only texts that a string may have; all where empty
};

/// Strings as languages. Borrows both; not thread-safe.
class SchemaStrings {
public:
    /// `dropped`: as KeywordContext::dropped.
    SchemaStrings(Language& language, const SchemaDocument& document, DroppedKeywords* dropped,
                  StringForm form);

    /// Strings that keep to the constraints, with their quotes. Errors: unsupported (a pattern, format or
    /// grammar that cannot be enforced; two grammars, or one beside much else; too large), invalid_argument
    /// (no regular expression, no grammar).
    Result<Expression> quoted(const StringConstraints& constraints);
    /// The same, without quotes. Errors: the same, and unsupported (any grammar: not all are automata).
    Result<Automaton> automaton(const StringConstraints& constraints);
    /// What matches a pattern or has a format, without quotes; null where that is not enforced. It lives as
    /// long as this. Errors: as automaton().
    Result<const Automaton*> matching(const StringConstraints::Text& text);

    /// `content` between quotes, kept together.
    Expression quoted(Expression content);
    /// A text as it stands between the quotes; empty where it cannot stand there.
    [[nodiscard]] std::optional<std::string> written(const std::string& text) const;
    /// Strings without quotes but for those of `excluded`. Errors: unsupported (one of them is longer than
    /// excluded_length_max, or all are longer than excluded_lengths_max).
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
    [[nodiscard]] const Automaton* kept_automaton(const Text& text) const;
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
    DroppedKeywords* dropped_; ///< null: what cannot be enforced is an error
    StringForm form_;
    CodePoints excluded_;                             ///< what begins a text that may not stand in a string
    Expression character_;                            ///< any one but those
    std::optional<Automaton> characters_of_all_;      ///< any number of them
    std::map<CodePoints, Expression> characters_;     ///< any_character(), as far as it was asked for
    std::map<CodePoints, Expression> characters_but_; ///< any_character_but()
    using Key = std::pair<Text::Kind, std::string>;
    std::map<Key, std::optional<Expression>> expressions_; ///< expression_of(), as far as it was asked for
    std::map<Key, std::optional<Automaton>> automata_;
    std::map<std::string, Expression> grammars_;
};

/// The grammar that strings are kept to; null where there is none.
const StringConstraints::Text* grammar_of(const StringConstraints& constraints);
/// The keyword that such a text is the value of.
std::string_view keyword_of(StringConstraints::Text::Kind kind);
/// What is said beside grammars.
StringConstraints without_grammars(const StringConstraints& constraints);

/// Whether an automaton accepts a text.
bool accepts(const Automaton& automaton, std::string_view text);

} // namespace etna::grammar
