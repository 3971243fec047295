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
    /// Errors: corrupt (no unknown token).
    static Result<WordPiece> create(const gguf::File& file, const Vocabulary& vocabulary);

    /// Appends the tokens of `text`, which holds no special tokens. Invalid UTF-8 is removed. Errors:
    /// cancelled (`budget` is over), out_of_memory (`budget` refuses memory for the tokens).
    Status encode(std::string_view text, TokenizeBudget& budget, std::vector<TokenId>& tokens) const;

private:
    WordPiece(const Vocabulary& vocabulary, TokenId unknown)
        : names_(vocabulary.text_names()), unknown_(unknown) {}
    Status append_word(const std::u32string& word, TokenizeBudget& budget,
                       std::vector<TokenId>& tokens) const;

    SortedNames names_;
    TokenId unknown_;
};

} // namespace etna::text
