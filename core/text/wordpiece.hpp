#pragma once

#include "core/base/result.hpp"
#include "core/text/tokenize_budget.hpp"
#include "core/text/vocabulary.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace etna::text {

/// WordPiece (BERT, arXiv 1810.04805; google-research/bert, tokenization.py): control characters are removed,
/// accents too, and letters become lower case; words end at white space, and punctuation and CJK ideographs
/// are words alone; a word becomes its longest token, the rest its longest continuation, and so on, or as a
/// whole the unknown token. In GGUF files U+2581 begins the tokens that begin words. Immutable; thread-safe.
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
