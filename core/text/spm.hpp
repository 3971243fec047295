#pragma once

#include "core/text/patience.hpp"
#include "core/text/vocabulary.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::text {

/// SentencePiece's BPE (Kudo and Richardson 2018): characters are merged as long as the result is a token,
/// the highest score first; what is no token is spelled by byte tokens. Immutable; thread-safe.
class Spm {
public:
    /// Borrows `vocabulary`, which must stay where it is. Error: corrupt (scores missing).
    static Result<Spm> create(const gguf::File& file, const Vocabulary& vocabulary);

    /// Appends the tokens of `text`, in which spaces are already "\u2581" and which holds no special tokens.
    /// Errors: invalid_argument (a byte that has no token, and no unknown token either), cancelled
    /// (`patience` is over).
    Status encode(std::string_view text, Patience& patience, std::vector<TokenId>& tokens) const;

private:
    explicit Spm(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}
    Status append_bytes(std::string_view bytes, std::vector<TokenId>& tokens) const;

    const Vocabulary* vocabulary_;
    std::size_t longest_name_bytes_ = 0;
    std::array<std::optional<TokenId>, 256> token_of_byte_;
};

} // namespace etna::text
