#pragma once

#include "core/generate/generate.hpp"
#include "core/text/stop_matcher.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::openai {

/// What a token is called beside its log-probability.
enum class TokenNames : uint8_t {
    text,
    ids, ///< "token_id:5", as vLLM has it
};

/// "token_id:5".
std::string name_by_id(TokenId token);

/// A token that is told.
struct ToldToken {
    generate::TokenDelta token;
    std::size_t characters = 0; ///< that begin in what the text shows of it
};

/// Tokens whose log-probabilities wait for their text: none is told before it is sure that no stop string
/// takes its text away, and none whose text was taken away. Not thread-safe.
class UntoldTokens {
public:
    /// Nothing takes text away.
    UntoldTokens() : matcher_({}) {}

    /// By the request's stop strings, for an answer at that place of the text. Borrows the tokenizer.
    UntoldTokens(const generate::Request& request, const text::Tokenizer& tokenizer,
                 text::TextPosition position);

    void add(generate::TokenDelta token);

    /// Drops those that wait: their text is none of which tokens are told.
    void forget() { waiting_.clear(); }

    /// Those that are sure, in order.
    std::vector<ToldToken> take();

    /// The rest, where no stop string has ended the answer; else what is sure of it. Then the token that
    /// ended it, where its text is told: `stop`, see told_stop().
    std::vector<ToldToken> take_last(const generate::Finished& finished, std::string_view stop);

private:
    struct Waiting {
        ToldToken token;
        std::size_t begin = 0; ///< bytes of the text before it
        std::size_t end = 0;
    };
    std::string_view shown(const generate::TokenLogprob& token);

    const text::Tokenizer* tokenizer_ = nullptr; ///< null: every token shows
    text::ControlTokens control_ = text::ControlTokens::shown;
    bool hides_space_ = false; ///< the next token's first, which SentencePiece puts before a text
    std::vector<std::string> stops_;
    text::StopMatcher matcher_;
    uint32_t free_tokens_ = 0; ///< still to come, among which no stop string is looked for
    std::size_t bytes_ = 0;    ///< of all tokens
    std::size_t sure_ = 0;     ///< of these, that no stop string takes away
    std::vector<Waiting> waiting_;
};

} // namespace etna::server::openai
