#pragma once

#include "core/generate/events.hpp"
#include "core/generate/request.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/tokenizer.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace etna::generate {

/// A token of an answer whose text is final.
struct EmittedToken {
    TokenDelta token;
    std::size_t characters = 0; ///< number of characters that start in its visible text
};

/// Holds logprobs back until their text is final, see FinalTokens; those of removed text are never released.
/// Not thread-safe.
class PendingLogprobs {
public:
    /// Every token is final at once: for answers whose text is not returned.
    PendingLogprobs() = default;

    /// For an answer at that position of the text. Borrows the tokenizer.
    PendingLogprobs(const Request& request, const text::Tokenizer& tokenizer, text::TextPosition position);

    void add(TokenDelta token);
    void add(const FinalTokens& tokens) { final_ = tokens.count; }

    /// Drops the held tokens, whose text is not reported with tokens.
    void clear();

    /// Takes the tokens that are final, in order.
    std::vector<EmittedToken> take_final();

private:
    std::string_view visible_text(const TokenLogprob& token);

    const text::Tokenizer* tokenizer_ = nullptr; ///< null: all tokens are visible, and final
    text::ControlTokens control_ = text::ControlTokens::shown;
    bool hides_space_ = false; ///< the next token's leading space, which SentencePiece prepends to a text
    std::size_t taken_ = 0;    ///< tokens of the answer before the waiting ones
    std::size_t final_ = 0;    ///< tokens of the answer that are final
    std::vector<EmittedToken> waiting_;
};

} // namespace etna::generate
