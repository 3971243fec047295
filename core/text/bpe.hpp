#pragma once

#include "core/text/merge.hpp"
#include "core/text/pre_tokenizer.hpp"
#include "core/text/vocabulary.hpp"

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
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
    /// A token's piece is its id; pieces named by merges but missing from the vocabulary are numbered from
    /// its size.
    using Piece = uint32_t;
    struct Scratch {
        std::vector<Symbol> symbols;
        std::vector<MergeCandidate> heap;
        std::string word; ///< without the bytes that have no token
    };

    Bpe(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer)
        : vocabulary_(&vocabulary), pre_tokenizer_(std::move(pre_tokenizer)) {}

    Piece piece_named(std::string_view spelling);
    Status read_merges(const gguf::File& file);
    Status encode_word(std::string_view word, TokenizeBudget& budget, Scratch& scratch,
                       std::vector<TokenId>& tokens) const;

    const Vocabulary* vocabulary_;
    PreTokenizer pre_tokenizer_;
    std::array<Piece, 256> piece_of_byte_{};
    std::unordered_map<uint64_t, Merge> merges_; ///< by left piece << 32 | right piece
    std::unordered_map<std::string, Piece> other_pieces_;
};

} // namespace etna::text
