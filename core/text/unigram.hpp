#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/text/tokenize_budget.hpp"
#include "core/text/vocabulary.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::text {

/// SentencePiece's rules of normalisation, `tokenizer.ggml.precompiled_charsmap`: a trie of texts (a double
/// array, darts-clone) and what replaces each. Immutable; thread-safe.
class CharacterMap {
public:
    /// Without rules.
    CharacterMap() = default;

    /// Errors: corrupt (the parts of the map do not fit together).
    static Result<CharacterMap> create(ByteView bytes);

    struct Match {
        std::size_t bytes = 0; ///< of the text that is replaced
        std::string_view replacement;
    };
    /// Returns the longest rule for the start of `text`; empty if there is none.
    [[nodiscard]] std::optional<Match> find(std::string_view text) const;

private:
    std::vector<uint32_t> units_;
    std::string replacements_; ///< each ends with a zero byte
};

/// SentencePiece's unigram model (Kudo, arXiv 1804.10959): of all divisions of the text into tokens, the one
/// with the highest sum of scores. A character that no token covers is unknown, and neighbours of it that are
/// unknown too become one token with it. Immutable; thread-safe.
class Unigram {
public:
    /// Borrows `vocabulary`, which must not move. Errors: corrupt (scores or the unknown token are missing,
    /// a damaged map of characters).
    static Result<Unigram> create(const gguf::File& file, const Vocabulary& vocabulary);

    /// Appends the tokens of `text`, which holds no special tokens; prepends a space if `begins_with_space`.
    /// Errors: cancelled (`budget` is over), out_of_memory (`budget` refuses memory for a long word).
    Status encode(std::string_view text, bool begins_with_space, TokenizeBudget& budget,
                  std::vector<TokenId>& tokens) const;

private:
    Unigram(const Vocabulary& vocabulary, TokenId unknown) : vocabulary_(&vocabulary), unknown_(unknown) {}

    [[nodiscard]] std::string normalised(std::string_view text, bool begins_with_space) const;
    [[nodiscard]] std::size_t word_end(std::string_view text, std::size_t from) const;
    Status encode_word(std::string_view word, TokenizeBudget& budget, std::vector<TokenId>& tokens) const;

    const Vocabulary* vocabulary_;
    TokenId unknown_;
    CharacterMap map_;
    double unknown_score_ = 0;
    std::size_t longest_name_bytes_ = 0;
    bool joins_spaces_ = true;   ///< runs of spaces become one, and none are left at the ends
    bool crosses_words_ = false; ///< a token has a space after another character
};

} // namespace etna::text
