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

/// Byte-level byte-pair encoding (Sennrich et al. 2016; GPT-2's alphabet and merge order): words from a
/// pre-tokenizer, each begun as single bytes, the earliest merge of the list first. Immutable; thread-safe.
class Bpe {
public:
    /// Borrows `vocabulary`, which must stay where it is. Errors: corrupt (merges missing or malformed),
    /// unsupported (pre-tokenizer).
    static Result<Bpe> create(const gguf::File& file, const Vocabulary& vocabulary);

    /// Appends the tokens of `text`, which holds no special tokens. A byte that has no token is left out
    /// before its neighbours are merged, as Hugging Face's tokenizers do (models/bpe, merge_word). Error:
    /// invalid_argument (what the pre-tokenizer cannot split), cancelled (`patience` is over),
    /// out_of_memory (it grants none for a long word).
    Status encode(std::string_view text, Patience& patience, std::vector<TokenId>& tokens) const;

    [[nodiscard]] const PreTokenizer& pre_tokenizer() const { return pre_tokenizer_; }

private:
    /// Tokens have their own number; pieces that merges name but the vocabulary lacks have numbers from its
    /// size on.
    using Piece = uint32_t;
    struct Scratch {
        std::vector<Symbol> symbols;
        std::vector<MergeCandidate> heap;
        std::string word; ///< without bytes that have no token
    };

    Bpe(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer)
        : vocabulary_(&vocabulary), pre_tokenizer_(std::move(pre_tokenizer)) {}

    Piece piece_named(std::string_view spelling);
    Status read_merges(const gguf::File& file);
    Status encode_word(std::string_view word, Patience& patience, Scratch& scratch,
                       std::vector<TokenId>& tokens) const;

    const Vocabulary* vocabulary_;
    PreTokenizer pre_tokenizer_;
    std::array<Piece, 256> piece_of_byte_{};
    std::unordered_map<uint64_t, Merge> merges_; ///< by left piece << 32 | right piece
    std::unordered_map<std::string, Piece> other_pieces_;
};

} // namespace etna::text
