#pragma once

#include "core/generate/generation.hpp"
#include "core/text/stop_matcher.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::openai {

/// How tokens are named in logprobs.
enum class TokenNames : uint8_t {
    text,
    ids, ///< "token_id:5", as in vLLM
};

/// "token_id:5".
std::string name_by_id(TokenId token);

/// A token that is reported to the client.
struct ToldToken {
    generate::TokenDelta token;
    std::size_t characters = 0; ///< characters that start in its visible text
};

/// Holds logprobs back until their text is final: a token is released only when no stop string can remove its
/// text, and never if its text was removed. Not thread-safe.
class UntoldTokens {
public:
    /// Without stop strings.
    UntoldTokens() : matcher_({}) {}

    /// With the request's stop strings, for an answer at that position of the text. Borrows the tokenizer.
    UntoldTokens(const generate::Request& request, const text::Tokenizer& tokenizer,
                 text::TextPosition position);

    void add(generate::TokenDelta token);

    /// Drops the held tokens, whose text is not reported with tokens.
    void forget() { waiting_.clear(); }

    /// Takes the final tokens, in order.
    std::vector<ToldToken> take();

    /// Takes the remaining tokens, or only the final ones if a stop string ended the answer; then the token
    /// that ended it, if its text is included: `stop`, see told_stop().
    std::vector<ToldToken> take_last(const generate::Finished& finished, std::string_view stop);

private:
    struct Waiting {
        ToldToken token;
        std::size_t begin = 0; ///< byte offset of its text
        std::size_t end = 0;
    };
    std::string_view shown(const generate::TokenLogprob& token);

    const text::Tokenizer* tokenizer_ = nullptr; ///< null: all tokens are visible
    text::ControlTokens control_ = text::ControlTokens::shown;
    bool hides_space_ = false; ///< the next token's leading space, which SentencePiece prepends to a text
    std::vector<std::string> stops_;
    text::StopMatcher matcher_;
    uint32_t free_tokens_ = 0; ///< upcoming tokens that are exempt from stop strings
    std::size_t bytes_ = 0;    ///< bytes of all tokens
    std::size_t sure_ = 0;     ///< bytes that no stop string can remove
    std::vector<Waiting> waiting_;
};

} // namespace etna::server::openai
