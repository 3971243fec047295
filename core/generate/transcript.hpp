#pragma once

#include "core/base/token.hpp"
#include "core/engine/batch.hpp"
#include "core/text/tokenizer.hpp"

#include <cstddef>
#include <span>
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
    /// Encodes `prompt`. If it continues the recorded text, with the same barriers, with a special token, the
    /// recorded tokens are reused; otherwise the complete prompt is encoded. Errors: those of
    /// Tokenizer::encode().
    Result<PromptTokens> encode(const text::Tokenizer& tokenizer, const std::string& prompt,
                                const text::EncodeOptions& options) const;

    /// Records the prompt that the model read, its barriers (see text::EncodeOptions), and the tokens that
    /// the model generated after it.
    void record(const text::Tokenizer& tokenizer, const std::string& prompt,
                std::span<const std::size_t> barriers, PromptTokens read,
                const std::vector<TokenId>& written);

private:
    [[nodiscard]] bool has_same_barriers(std::span<const std::size_t> barriers) const;

    std::string text_;
    std::size_t prompt_bytes_ = 0; ///< of `text_`: the rest is the answer
    std::vector<std::size_t> barriers_;
    PromptTokens known_;
};

} // namespace etna::generate
