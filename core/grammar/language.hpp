#pragma once

#include "core/base/result.hpp"
#include "core/grammar/automaton.hpp"
#include "core/grammar/counted.hpp"
#include "core/grammar/derivatives.hpp"
#include "core/grammar/distinct.hpp"
#include "core/grammar/expressions.hpp"
#include "core/grammar/seal.hpp"
#include "core/grammar/within.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::grammar {

/// Sets of byte strings, as expressions, and their derivatives by a byte.
///
/// Expressions are built of smaller ones and deduplicated; rules may refer to themselves, so that every
/// context-free language without left recursion can be expressed. next() returns the strings that may follow
/// a byte, as another expression, and caches it: walking a text costs one look-up per byte. A program builds
/// its rules, seals them, and then walks; it can build and seal more later.
///
/// When `bytes_max` are in use, is_full() is true and new expressions are `nothing`: a language that is too
/// large rejects texts, and never accepts one that it should not.
///
/// Sources: Brzozowski, Derivatives of regular expressions (1964); Owens, Reppy, Turon, Regular-expression
/// derivatives re-examined (2009); Might, Darais, Spiewak, Parsing with derivatives (2011).
/// Not thread-safe: next() modifies it too.
class Language : public Expressions {
public:
    explicit Language(std::size_t bytes_max = std::size_t{128} << 20);

    /// The strings of `min` to `max` characters that an automaton accepts. `characters` accepts any number
    /// of characters, including each string that `automaton` accepts; no character is a prefix of another.
    /// Errors: unsupported (too large; too many lengths), and as check().
    Result<Expression> counted(const Automaton& automaton, const Automaton& characters, uint32_t min,
                               uint32_t max) {
        return counted_.counted(automaton, characters, min, max);
    }
    /// `min` to `max` comma-separated items, no two of which are the same string; at most distinct_max.
    /// Precondition: `item` contains no rules, no item begins with white space, and no item is another item
    /// followed by text that may begin with a comma. Errors: unsupported (`min` is more than distinct_max).
    Result<Expression> distinct(Expression item, Expression comma, uint32_t min, uint32_t max) {
        return distinct_.distinct(item, comma, min, max);
    }
    static constexpr uint32_t distinct_max = DistinctLists::items_max;
    /// The strings of `content`, which may contain rules, that the automaton accepts as well. The result must
    /// be sealed. Precondition: `content` contains no accepted(), counted(), distinct() or within(). Errors:
    /// unsupported (the automaton has more than Paths::states_max states).
    Result<Expression> within(Expression content, const Automaton& automaton) {
        return within_.within(content, automaton);
    }

    /// Completes all rules, and returns `root` without the parts that match no finite text, such as a rule
    /// that always requires itself again: every state that next() reaches from it can reach an accepting one.
    /// Errors: unsupported (a rule is left-recursive; as check()), invalid_argument (no text fits).
    Result<Expression> seal(Expression root) { return sealing_.seal(root); }

    /// The automaton of an expression without rules. Errors: unsupported (more than automaton_states_max
    /// states), and as check().
    Result<Automaton> automaton(Expression regular) { return derivatives_.automaton(regular); }
    /// The strings that both accept. Errors: as grammar::intersection(), and as check().
    Result<Automaton> both(const Automaton& a, const Automaton& b) { return derivatives_.both(a, b); }
    /// The strings that `excluded` does not accept. Errors: as grammar::complement(), and as check().
    Result<Automaton> all_but(const Automaton& excluded) { return derivatives_.all_but(excluded); }

    /// The strings that may follow `byte`; `nothing` if it does not fit. Precondition: `from` comes from
    /// seal() or next(), or contains no rules.
    Expression next(Expression from, uint8_t byte) { return derivatives_.next(from, byte); }
    /// next() over all bytes of `text`.
    Expression next(Expression from, std::string_view text) { return derivatives_.next(from, text); }

    /// Returns an expression that is equivalent for texts of up to `bytes` bytes: with smaller counts if
    /// `expression` is counted.
    Expression with_small_counts(Expression expression, uint32_t bytes) {
        return counted_.with_small_counts(expression, bytes);
    }

    /// For an expression of Kind::distinct: a superset, in which items may repeat.
    Expression allowing_repeats(Expression distinct) { return distinct_.allowing_repeats(distinct); }
    /// The superset differs only for texts that begin with one of used_items() or are a prefix of one; for
    /// texts that may reach the end of the next item, or a point that few strings may follow
    /// (may_have_next_item()); and for all texts if there are few items.
    [[nodiscard]] std::vector<std::string> used_items(Expression distinct) const {
        return distinct_.used_items(distinct);
    }
    bool may_have_next_item(Expression distinct, std::string_view bytes) {
        return distinct_.may_have_next_item(distinct, bytes);
    }
    bool has_few_items(Expression distinct) { return distinct_.has_few_items(distinct); }

    /// Marks the language full, after an exception escaped from it: its cached results may be wrong.
    void give_up();

private:
    Derivatives derivatives_;
    CountedTexts counted_;
    DistinctLists distinct_;
    WithinTexts within_;
    Sealing sealing_;
};

} // namespace etna::grammar
