#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/vocabulary.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace etna::grammar {

/// One bit per token of a vocabulary, set if the token is allowed: token t is bit t % 32 of word t / 32.
class TokenMask {
public:
    explicit TokenMask(uint32_t tokens = 0) : words_((tokens + 31) / 32) {}

    void forbid(TokenId token) { words_[token / 32] &= ~(uint32_t{1} << (token % 32)); }
    void allow(TokenId token) { words_[token / 32] |= uint32_t{1} << (token % 32); }
    [[nodiscard]] bool allows(TokenId token) const { return ((words_[token / 32] >> (token % 32)) & 1) != 0; }
    TokenMask& operator|=(const TokenMask& other);
    [[nodiscard]] bool is_empty() const;
    [[nodiscard]] std::span<const uint32_t> words() const { return words_; }
    bool operator==(const TokenMask&) const = default;

private:
    std::vector<uint32_t> words_;
};

/// Computes which tokens fit the rest of a language. A token fits if all its bytes do and some text may
/// follow.
///
/// A walk over the vocabulary is slow, so its result is cached wherever it can be reused. The head of a
/// sequence that is a `unit`, an automaton or within one, such as the rest of a string, is walked separately:
/// tokens that stay within it are computed once, and only those that reach beyond its end are checked each
/// time against the rest. If all plain text leads back to the same state, entire subtrees of tokens are
/// allowed without a check. Counts beyond the length of any short token are equivalent for all of them, so
/// that the rest of a string of at most 1000 characters is not a new head after each character. Masks that
/// were slow nevertheless are cached by state, a few of them.
///
/// Lists of distinct items are walked as if items could repeat, and then the few tokens that may have
/// repeated one are checked one by one: an exact walk would create a state for each text that may come next.
///
/// All work is charged to the language's step budget. A mask that ran out of budget is incomplete and is not
/// cached.
///
/// Not thread-safe; modifies the language. Borrows both.
class Masks {
public:
    Masks(Language& language, const Vocabulary& vocabulary);

    /// Precondition: `state` comes from Language::seal() or next().
    TokenMask mask(Expression state);

    /// Approximate memory use in bytes.
    [[nodiscard]] std::size_t bytes() const {
        return heads_bytes_ + cached_.size() * (vocabulary_->size() / 8);
    }

private:
    struct Head {
        TokenMask inside; ///< tokens that do not leave the head
        /// Nodes after one of its ends, with tokens that leave the head at or below them; [first_beyond[b],
        /// first_beyond[b + 1]) are those with byte b.
        std::vector<uint32_t> beyond = {};
        std::array<uint32_t, 257> first_beyond = {};

        [[nodiscard]] std::size_t bytes() const {
            return sizeof(Head) + inside.words().size_bytes() + beyond.size() * sizeof(uint32_t);
        }
    };

    TokenMask mask_of(Expression state);
    TokenMask distinct_mask(Expression alternative);
    void forbid_repeats(Expression alternative, Expression distinct, const TokenTree& tree, TokenMask& mask);
    void check(Expression alternative, std::span<const TokenId> tokens, TokenMask& mask);
    void cache(Expression state, const TokenMask& mask);
    void add(Expression state, TokenMask& mask);
    void add_alternative(Expression state, TokenMask& mask);
    void walk_alternatives(TokenMask& mask);
    void add_beyond(const Head& head, Expression rest, TokenMask& mask);
    void walk(Expression state, const TokenTree& tree, TokenMask& mask);
    /// Walks the subtree below a node that has led to `state`.
    void walk_from(uint32_t node, Expression state, const TokenTree& tree, TokenMask& mask);
    template <class Reach>
    void follow(const TokenTree& tree, uint32_t first, uint32_t end, TokenMask& mask, const Reach& reach);
    void allow_all(std::span<const TokenId> tokens, TokenMask& mask);
    bool is_free(Expression state);
    bool is_free_after(Expression state, const PlainText& read);
    template <class IsRight>
    bool all_lead(Expression from, const PlainText& read, const IsRight& is_right);
    const Head& head(Expression unit);
    std::optional<Expression> free_state_after_head(Expression unit);
    Head walk_head(Expression unit);
    void collect_beyond(const std::vector<uint32_t>& ends, Head& head) const;
    Expression shortened(Expression expression, int depth = 0);

    Language* language_;
    const Vocabulary* vocabulary_;
    std::vector<Expression> path_;                  ///< states of a walk, by depth
    std::unordered_set<Expression> seen_;           ///< states seen by add(), for one mask
    std::vector<Expression> open_;                  ///< states that add() has yet to process
    std::vector<Expression> alternatives_;          ///< that add() leaves to walk_alternatives()
    std::vector<Expression> plain_alternatives_;    ///< all that add() has found, including `alternatives_`
    std::vector<Expression> distinct_alternatives_; ///< the others, which begin within a Kind::distinct
    std::unordered_map<Expression, TokenMask> cached_;
    std::unordered_map<Expression, Head> heads_;
    std::size_t heads_bytes_ = 0;
    Head unfinished_; ///< incomplete, because the language was spent; not cached
    std::unordered_map<Expression, Expression> shortened_;
    std::unordered_map<Expression, bool> free_;
    std::map<std::array<uint32_t, 2>, bool> free_after_; ///< by state and PlainText
};

} // namespace etna::grammar
