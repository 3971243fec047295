#pragma once

#include "core/base/token.hpp"
#include "core/engine/batch.hpp"
#include "core/text/tokenizer.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace etna::generate {

/// Tokens to compute, and what each is computed as.
struct PromptTokens {
    std::vector<TokenId> tokens;
    std::vector<engine::RowKind> kinds; ///< of the same length
};

/// What a model has read and written in one conversation so far. Its next turn, which begins with the same
/// text, is then made of the very same tokens, so that the cache knows them. Not thread-safe.
class Transcript {
public:
    /// The tokens of `prompt`. Where it goes on from the text so far with a special token, that text keeps
    /// its tokens; else the prompt is encoded afresh. Errors: those of Tokenizer::encode().
    Result<PromptTokens> encode(const text::Tokenizer& tokenizer, const std::string& prompt,
                                const text::EncodeOptions& options) const;

    /// The prompt that the model read and the tokens that it wrote after it.
    void record(const text::Tokenizer& tokenizer, const std::string& prompt, PromptTokens read,
                const std::vector<TokenId>& written);

private:
    std::string text_;
    PromptTokens known_;
};

} // namespace etna::generate
