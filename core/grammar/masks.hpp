#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/token_tree.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace etna::grammar {

/// One bit for each token of a vocabulary, set where it is allowed: token t at bit t % 32 of word t / 32.
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

/// The bytes of a vocabulary's tokens, ready to be asked for masks. Immutable; thread-safe.
class Vocabulary {
public:
    /// `bytes[t]` is what token t stands for; empty for one that never fits. `control_tokens` are those that
    /// texts are marked with, by name; see control_text().
    explicit Vocabulary(std::vector<std::string> bytes,
                        std::map<std::string, TokenId, std::less<>> control_tokens = {});

    [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
    [[nodiscard]] std::string_view bytes(TokenId token) const { return bytes_[token]; }
    [[nodiscard]] std::optional<TokenId> control_token(std::string_view name) const;
    /// Tokens of up to short_bytes bytes, and those of more.
    [[nodiscard]] const TokenTree& short_tokens() const { return short_; }
    [[nodiscard]] const TokenTree& long_tokens() const { return long_; }
    /// Tokens with more behind a comma than white space.
    [[nodiscard]] const std::vector<TokenId>& tokens_behind_comma() const { return behind_comma_; }

    static constexpr uint32_t short_bytes = 32;

private:
    std::vector<std::string> bytes_;
    std::map<std::string, TokenId, std::less<>> control_tokens_;
    TokenTree short_;
    TokenTree long_;
    std::vector<TokenId> behind_comma_;
};

/// Which tokens fit what is left of a language. A token fits where all its bytes do and some text may follow.
///
/// A walk over the whole vocabulary takes a while, so that its result is kept wherever it can be used again.
/// The head of a sequence that is a `unit`, an automaton or within one, such as the rest of a string, is
/// walked by itself: tokens that stay within it are known once and for all, and only those that reach beyond
/// its end are looked at each time with what follows it. Where any plain text leads back to the same state,
/// whole subtrees of tokens are allowed without a look. Counts beyond the length of any short token are the
/// same to all of them, so that the rest of a string of at most 1000 characters is no new head with each
/// character. Masks that took long all the same are kept by their states, a few of them.
///
/// Lists of different items are walked as if items might come twice, and then the few tokens that may have
/// made one come twice are looked at one by one: a walk over all would keep a state for each text that may be
/// next.
///
/// Whatever it looks at takes steps of the language, which may tire: then a mask is not right, and nothing
/// that is not right is kept.
///
/// Not thread-safe; changes the language. Borrows both.
class Masks {
public:
    Masks(Language& language, const Vocabulary& vocabulary);

    /// Precondition: `state` comes from Language::seal() or next().
    TokenMask mask(Expression state);

    /// About how much memory it takes.
    [[nodiscard]] std::size_t bytes() const {
        return heads_bytes_ + kept_.size() * (vocabulary_->size() / 8);
    }

private:
    struct Head {
        TokenMask inside; ///< tokens that do not leave it
        /// Nodes behind one of its ends, with other tokens from there on; [first_beyond[b], first_beyond[b +
        /// 1]) are those with byte b.
        std::vector<uint32_t> beyond = {};
        std::array<uint32_t, 257> first_beyond = {};

        [[nodiscard]] std::size_t bytes() const {
            return sizeof(Head) + inside.words().size_bytes() + beyond.size() * sizeof(uint32_t);
        }
    };

    TokenMask mask_of(Expression state);
    TokenMask remembering_mask(Expression way);
    void keep_to_memory(Expression way, Expression distinct, const TokenTree& tree, TokenMask& mask);
    void check(Expression way, std::span<const TokenId> tokens, TokenMask& mask);
    void keep(Expression state, const TokenMask& mask);
    void add(Expression state, TokenMask& mask);
    void add_way(Expression state, TokenMask& mask);
    void walk_ways(TokenMask& mask);
    void add_beyond(const Head& head, Expression rest, TokenMask& mask);
    void walk(Expression state, const TokenTree& tree, TokenMask& mask);
    /// From a node on that has led to `state`, to all below it.
    void walk_from(uint32_t node, Expression state, const TokenTree& tree, TokenMask& mask);
    template <class Reach>
    void follow(const TokenTree& tree, uint32_t first, uint32_t end, TokenMask& mask, const Reach& reach);
    void allow_all(std::span<const TokenId> tokens, TokenMask& mask);
    bool is_free(Expression state);
    bool is_free_behind(Expression state, const PlainText& read);
    template <class IsRight>
    bool all_lead(Expression from, const PlainText& read, const IsRight& is_right);
    const Head& head(Expression unit);
    std::optional<Expression> free_behind_head(Expression unit);
    Head walk_head(Expression unit);
    void collect_beyond(const std::vector<uint32_t>& ends, Head& head) const;
    Expression shortened(Expression expression, int depth = 0);

    Language* language_;
    const Vocabulary* vocabulary_;
    std::vector<Expression> path_;        ///< of a walk: states by depth
    std::unordered_set<Expression> seen_; ///< by add(), for one mask
    std::vector<Expression> open_;        ///< that add() has to look at
    std::vector<Expression> ways_;        ///< that add() has left to walk_ways()
    std::vector<Expression> plain_ways_;  ///< that add() has found; `ways_` among them
    std::vector<Expression> remembering_; ///< others, which begin within a Kind::distinct
    std::unordered_map<Expression, TokenMask> kept_;
    std::unordered_map<Expression, Head> heads_;
    std::size_t heads_bytes_ = 0;
    Head unfinished_; ///< one that Language::is_tired() has kept from being right
    std::unordered_map<Expression, Expression> shortened_;
    std::unordered_map<Expression, bool> free_;
    std::map<std::array<uint32_t, 2>, bool> free_behind_; ///< by state, and how far a character has been read
};

} // namespace etna::grammar
