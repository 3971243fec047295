#pragma once

#include "core/base/result.hpp"
#include "core/text/byte_tokens.hpp"
#include "core/text/merge_table.hpp"
#include "core/text/tokenize_budget.hpp"
#include "core/text/vocabulary.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::text {

/// Byte-pair encoding of characters (Gemma 4): U+2581 replaces a space, runs of line breaks are separated
/// from other text, and each such piece is merged from single characters, the earliest merge in the list
/// first. A run of line breaks that is a token stays whole. A character without a token becomes byte tokens.
/// Immutable; thread-safe.
class CharacterBpe {
public:
    /// Borrows `vocabulary`, which must not move. Errors: corrupt (merges missing or malformed).
    static Result<CharacterBpe> create(const gguf::File& file, const Vocabulary& vocabulary);

    /// Appends the tokens of `text`, which holds no special tokens. Errors: invalid_argument (a byte without
    /// a token, and no unknown token either), cancelled (`budget` is over), out_of_memory (`budget` refuses
    /// memory for a long line).
    Status encode(std::string_view text, TokenizeBudget& budget, std::vector<TokenId>& tokens) const;

private:
    struct Scratch {
        std::vector<Symbol> symbols;
        std::vector<MergeCandidate> heap;
        std::string marked; ///< the line, with U+2581 for spaces
    };

    CharacterBpe(const Vocabulary& vocabulary, MergeTable merges)
        : vocabulary_(&vocabulary), merges_(std::move(merges)), byte_tokens_(vocabulary) {}

    Status encode_line(std::string_view line, TokenizeBudget& budget, Scratch& scratch,
                       std::vector<TokenId>& tokens) const;

    const Vocabulary* vocabulary_;
    MergeTable merges_;
    ByteTokens byte_tokens_;
};

} // namespace etna::text
