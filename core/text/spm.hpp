#pragma once

#include "core/text/byte_tokens.hpp"
#include "core/text/merge.hpp"
#include "core/text/tokenize_budget.hpp"
#include "core/text/vocabulary.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace etna::text {

/// SentencePiece's BPE (Kudo and Richardson 2018): characters are merged as long as the result is a token,
/// the highest score first; text without a token is encoded as byte tokens. Immutable; thread-safe.
///
/// SentencePiece does not split words. But if no token contains a space after the preceding character, no
/// merge crosses that boundary, and the text can be split there without changing the tokens. Memory is then
/// per word, not per text.
class Spm {
public:
    /// Borrows `vocabulary`, which must not move. Errors: corrupt (scores missing).
    static Result<Spm> create(const gguf::File& file, const Vocabulary& vocabulary);

    /// Appends the tokens of `text`, which holds no special tokens; prepends a space if `begins_with_space`.
    /// Errors: invalid_argument (a byte without a token, and no unknown token either), cancelled (`budget`
    /// is over), out_of_memory (`budget` refuses memory for a long word).
    Status encode(std::string_view text, bool begins_with_space, TokenizeBudget& budget,
                  std::vector<TokenId>& tokens) const;

private:
    struct Scratch {
        std::vector<Symbol> symbols;
        std::vector<MergeCandidate> heap;
        std::string marked; ///< the word, with U+2581 for spaces
    };

    explicit Spm(const Vocabulary& vocabulary) : vocabulary_(&vocabulary), byte_tokens_(vocabulary) {}
    [[nodiscard]] std::size_t word_end(std::string_view text, std::size_t from) const;
    Status encode_word(TokenizeBudget& budget, Scratch& scratch, std::vector<TokenId>& tokens) const;

    const Vocabulary* vocabulary_;
    ByteTokens byte_tokens_;
    std::size_t longest_name_bytes_ = 0;
    std::array<bool, 256> may_precede_mark_{}; ///< bytes before a space inside some token
};

} // namespace etna::text
