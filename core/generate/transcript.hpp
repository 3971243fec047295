#pragma once

#include "core/base/token.hpp"
#include "core/engine/batch.hpp"
#include "core/text/tokenizer.hpp"

#include <string>
#include <vector>

namespace etna::generate {

/// Tokens to compute, and the row kind of each.
struct PromptTokens {
    std::vector<TokenId> tokens;
    std::vector<engine::RowKind> kinds; ///< same length as `tokens`
};

/// The tokens that a model has read and written in one conversation. The next turn, which starts with the
/// same text, reuses exactly these tokens, so that it hits the prompt cache. Not thread-safe.
class Transcript {
public:
    /// Encodes `prompt`. If it continues the recorded text with a special token, the recorded tokens are
    /// reused; otherwise the complete prompt is encoded. Errors: those of Tokenizer::encode().
    Result<PromptTokens> encode(const text::Tokenizer& tokenizer, const std::string& prompt,
                                const text::EncodeOptions& options) const;

    /// Records the prompt that the model read and the tokens that it generated after it.
    void record(const text::Tokenizer& tokenizer, const std::string& prompt, PromptTokens read,
                const std::vector<TokenId>& written);

private:
    std::string text_;
    PromptTokens known_;
};

} // namespace etna::generate
