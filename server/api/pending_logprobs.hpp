#pragma once

#include "core/generate/generation.hpp"
#include "server/base/json.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::api {

/// How tokens are named in logprobs.
enum class TokenNames : uint8_t {
    text,
    ids, ///< "token_id:5", as in vLLM
};

/// Returns "token_id:5".
std::string token_id_name(TokenId token);

/// A token that is reported to the client.
struct EmittedToken {
    generate::TokenDelta token;
    std::size_t characters = 0; ///< number of characters that start in its visible text
};

/// Returns a list of {"token", "logprob", "bytes", "top_logprobs"}. Source: OpenAI API 2.3.0,
/// ChatCompletionTokenLogprob.
Json logprobs_list(const std::vector<EmittedToken>& tokens, TokenNames names = TokenNames::text);

/// Holds logprobs back until their text is final, see generate::FinalTokens; those of removed text are never
/// released. Not thread-safe.
class PendingLogprobs {
public:
    /// Every token is final at once: for answers whose text is not returned.
    PendingLogprobs() = default;

    /// For an answer at that position of the text. Borrows the tokenizer.
    PendingLogprobs(const generate::Request& request, const text::Tokenizer& tokenizer,
                    text::TextPosition position);

    void add(generate::TokenDelta token);
    void add(const generate::FinalTokens& tokens) { final_ = tokens.count; }

    /// Drops the held tokens, whose text is not reported with tokens.
    void clear();

    /// Takes the tokens that are final, in order.
    std::vector<EmittedToken> take_final();

private:
    std::string_view visible_text(const generate::TokenLogprob& token);

    const text::Tokenizer* tokenizer_ = nullptr; ///< null: all tokens are visible, and final
    text::ControlTokens control_ = text::ControlTokens::shown;
    bool hides_space_ = false; ///< the next token's leading space, which SentencePiece prepends to a text
    std::size_t taken_ = 0;    ///< tokens of the answer before the waiting ones
    std::size_t final_ = 0;    ///< tokens of the answer that are final
    std::vector<EmittedToken> waiting_;
};

} // namespace etna::server::api
