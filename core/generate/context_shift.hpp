#pragma once

#include "core/base/token.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::generate {

/// What a ContextShift applies to.
enum class ShiftScope : uint8_t { prompt_and_answer, prompt, answer };

/// Which tokens are dropped when the context is full, so that the answer can continue. The remaining tokens
/// are recomputed as a prompt, whose protected prefix comes from the cache.
struct ContextShift {
    /// Length of the protected prefix, which is never dropped, without the tokens that the tokenizer
    /// prepends; empty: the entire prompt.
    std::optional<uint32_t> keep_tokens = 0;
    /// Number of tokens to drop after the prefix; at least a sixteenth of those after it, so that the rest is
    /// not recomputed for every few tokens; 0: half of them.
    uint32_t discard_tokens = 0;
    ShiftScope scope = ShiftScope::prompt_and_answer;
};

/// Returns the length of a prompt's protected prefix: at most `context_tokens` - 4, so that some tokens can
/// be dropped. `begin_tokens`: number of tokens that the tokenizer prepends.
std::size_t kept_tokens(const ContextShift& shift, std::size_t prompt_tokens, std::size_t begin_tokens,
                        uint32_t context_tokens);

/// Returns the remaining tokens of a full context: the first `keep`, and those after the dropped ones.
std::vector<TokenId> shifted(std::span<const TokenId> tokens, std::size_t keep, const ContextShift& shift);

/// Drops blocks after the first `keep` tokens of a prompt, each half of the context without `keep`, until the
/// prompt fits the context. Returns the remaining tokens.
std::vector<TokenId> shortened(std::span<const TokenId> prompt, std::size_t keep, uint32_t context_tokens);

} // namespace etna::generate
