#pragma once

#include "core/base/result.hpp"
#include "core/text/tokenize_budget.hpp"
#include "core/text/vocabulary.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace etna::text {

/// WordPiece (BERT, arXiv 1810.04805; google-research/bert, tokenization.py). Removes control characters and
/// accents, and lower-cases letters. Splits at white space; each punctuation character and CJK ideograph is a
/// separate word. A word is split greedily into the longest tokens from its start; if that fails, all of it
/// becomes the unknown token. In GGUF files, tokens that start a word start with U+2581. Immutable;
/// thread-safe.
class WordPiece {
public:
    /// Borrows `vocabulary`, which must not move. Errors: corrupt (no unknown token).
    static Result<WordPiece> create(const gguf::File& file, const Vocabulary& vocabulary);

    /// Appends the tokens of `text`, which holds no special tokens. Invalid UTF-8 is removed. Errors:
    /// cancelled (`budget` is over).
    Status encode(std::string_view text, TokenizeBudget& budget, std::vector<TokenId>& tokens) const;

private:
    WordPiece(const Vocabulary& vocabulary, TokenId unknown) : vocabulary_(&vocabulary), unknown_(unknown) {}
    void append_word(const std::u32string& word, std::vector<TokenId>& tokens) const;

    const Vocabulary* vocabulary_;
    TokenId unknown_;
    std::size_t longest_name_bytes_ = 0;
};

} // namespace etna::text
