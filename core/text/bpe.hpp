#pragma once

#include "core/text/merge_table.hpp"
#include "core/text/pre_tokenizer.hpp"
#include "core/text/vocabulary.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::text {

/// Byte-level byte-pair encoding (Sennrich et al. 2016; GPT-2's alphabet and merge order): a pre-tokenizer
/// splits the text into words, and each word is merged from single bytes, the earliest merge in the list
/// first. Immutable; thread-safe.
class Bpe {
public:
    /// Borrows `vocabulary`, which must not move. Errors: corrupt (merges missing or malformed), unsupported
    /// (pre-tokenizer).
    static Result<Bpe> create(const gguf::File& file, const Vocabulary& vocabulary);

    /// Appends the tokens of `text`, which holds no special tokens. A byte without a token is dropped before
    /// its neighbours are merged, as in Hugging Face's tokenizers (models/bpe, merge_word). Errors:
    /// invalid_argument (the pre-tokenizer cannot split the text), cancelled (`budget` is over),
    /// out_of_memory (`budget` refuses memory for a long word).
    Status encode(std::string_view text, TokenizeBudget& budget, std::vector<TokenId>& tokens) const;

    [[nodiscard]] const PreTokenizer& pre_tokenizer() const { return pre_tokenizer_; }

private:
    struct Scratch {
        std::vector<Symbol> symbols;
        std::vector<MergeCandidate> heap;
        std::string word; ///< without the bytes that have no token
    };

    Bpe(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer, MergeTable merges)
        : vocabulary_(&vocabulary), pre_tokenizer_(std::move(pre_tokenizer)), merges_(std::move(merges)) {}

    Status encode_word(std::string_view word, TokenizeBudget& budget, Scratch& scratch,
                       std::vector<TokenId>& tokens) const;

    const Vocabulary* vocabulary_;
    PreTokenizer pre_tokenizer_;
    MergeTable merges_;
    std::array<MergeTable::Piece, 256> piece_of_byte_{};
};

} // namespace etna::text
