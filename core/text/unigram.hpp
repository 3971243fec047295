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

/// SentencePiece's normalisation rules, `tokenizer.ggml.precompiled_charsmap`: a trie of texts (a darts-clone
/// double array) and their replacements. Immutable; thread-safe.
class CharacterMap {
public:
    /// An empty map.
    CharacterMap() = default;

    /// Errors: corrupt (the map is inconsistent).
    static Result<CharacterMap> create(ByteView bytes);

    /// Longer rules never match: this bounds the work at each position of a text, whatever the trie is. The
    /// longest of nmt_nfkc has 12 bytes.
    static constexpr std::size_t rule_bytes_max = 64;

    struct Match {
        std::size_t bytes = 0; ///< length of the text that is replaced
        std::string_view replacement;
    };
    /// Returns the longest rule that matches the start of `text`; empty if no rule does.
    [[nodiscard]] std::optional<Match> find(std::string_view text) const;

private:
    std::vector<uint32_t> units_;
    std::string replacements_; ///< concatenated zero-terminated strings
};

/// SentencePiece's unigram model (Kudo, arXiv 1804.10959): finds the segmentation into tokens with the
/// highest sum of scores. Characters that no token covers are unknown; a run of them becomes one unknown
/// token. Immutable; thread-safe.
class Unigram {
public:
    /// Borrows `vocabulary`, which must not move. Errors: corrupt (scores or the unknown token are missing,
    /// a damaged map of characters).
    static Result<Unigram> create(const gguf::File& file, const Vocabulary& vocabulary);

    /// Appends the tokens of `text`, which holds no special tokens; prepends a space if `begins_with_space`.
    /// Errors: cancelled (`budget` is over), out_of_memory (`budget` refuses memory for the normalised text
    /// or a long word).
    Status encode(std::string_view text, bool begins_with_space, TokenizeBudget& budget,
                  std::vector<TokenId>& tokens) const;

private:
    Unigram(const Vocabulary& vocabulary, TokenId unknown)
        : vocabulary_(&vocabulary), names_(vocabulary.text_names()), unknown_(unknown) {}

    [[nodiscard]] Result<std::string> normalised(std::string_view text, bool begins_with_space,
                                                 TokenizeBudget& budget) const;
    [[nodiscard]] std::size_t word_end(std::string_view text, std::size_t from) const;
    Status encode_word(std::string_view word, TokenizeBudget& budget, std::vector<TokenId>& tokens) const;

    const Vocabulary* vocabulary_;
    SortedNames names_;
    TokenId unknown_;
    CharacterMap map_;
    double unknown_score_ = 0;
    bool joins_spaces_ = true;   ///< collapses runs of spaces, and strips spaces at both ends
    bool crosses_words_ = false; ///< some token has a space after another character
};

} // namespace etna::text
