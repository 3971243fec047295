#pragma once

#include "core/generate/generation.hpp"
#include "core/text/stop_matcher.hpp"
#include "server/json.hpp"

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

/// Holds logprobs back until their text is final: a token is released only when no stop string can remove its
/// text, and never if its text was removed. Not thread-safe.
class PendingLogprobs {
public:
    /// Without stop strings.
    PendingLogprobs() : matcher_({}) {}

    /// With the request's stop strings, for an answer at that position of the text. Borrows the tokenizer.
    PendingLogprobs(const generate::Request& request, const text::Tokenizer& tokenizer,
                    text::TextPosition position);

    void add(generate::TokenDelta token);

    /// Drops the held tokens, whose text is not reported with tokens.
    void clear() { waiting_.clear(); }

    /// Takes the tokens that are final, in order.
    std::vector<EmittedToken> take_final();

    /// Takes the remaining tokens, or only the final ones if a stop string ended the answer; then the token
    /// that ended it, if its text is included: `stop`, see included_stop().
    std::vector<EmittedToken> take_last(const generate::Finished& finished, std::string_view stop);

private:
    struct Waiting {
        EmittedToken token;
        std::size_t begin = 0; ///< byte offset of its text
        std::size_t end = 0;
    };
    std::string_view visible_text(const generate::TokenLogprob& token);

    const text::Tokenizer* tokenizer_ = nullptr; ///< null: all tokens are visible
    text::ControlTokens control_ = text::ControlTokens::shown;
    bool hides_space_ = false; ///< the next token's leading space, which SentencePiece prepends to a text
    std::vector<std::string> stops_;
    text::StopMatcher matcher_;
    uint32_t exempt_tokens_ = 0;  ///< number of upcoming tokens that are exempt from stop strings
    std::size_t bytes_ = 0;       ///< bytes of all tokens
    std::size_t final_bytes_ = 0; ///< bytes that no stop string can remove
    std::vector<Waiting> waiting_;
};

/// Returns the stop tokens whose text is included if they end an answer: with include_stop_str_in_output; for
/// control tokens, with skip_special_tokens: false, as in vLLM.
std::vector<std::string> included_stops(const generate::Request& request, const text::Tokenizer& tokenizer);

/// Returns the text of the stop token in `stops` that ended the answer; empty if none did.
std::string included_stop(const std::vector<std::string>& stops, const generate::Finished& finished);

} // namespace etna::server::api
