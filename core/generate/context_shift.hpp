#pragma once

#include "core/base/token.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::generate {

/// What is dropped when the context is full, so that an answer goes on. The tokens that remain are computed
/// again as a prompt, of which the kept beginning comes from the cache.
struct ContextShift {
    /// Tokens at the beginning that are never dropped, those that the tokenizer prepends not counted; empty:
    /// the whole prompt.
    std::optional<uint32_t> keep_tokens = 0;
    /// Tokens after them that are dropped, at least a sixteenth of those, so that the rest is not computed
    /// again for every few tokens; 0: half of them.
    uint32_t discard_tokens = 0;
};

/// Returns the number of tokens at the beginning of a prompt that stay: at most `context_tokens` - 4, so that
/// there is something to drop. `begin_tokens`: those that the tokenizer prepends.
std::size_t kept_tokens(const ContextShift& shift, std::size_t prompt_tokens, std::size_t begin_tokens,
                        uint32_t context_tokens);

/// Returns what remains of the tokens of a full context: the first `keep`, and those after the dropped ones.
std::vector<TokenId> shifted(std::span<const TokenId> tokens, std::size_t keep, const ContextShift& shift);

/// Drops blocks of half the context without `keep` after the first `keep` tokens of a prompt, until it fits
/// the context. Returns what remains.
std::vector<TokenId> shortened(std::span<const TokenId> prompt, std::size_t keep, uint32_t context_tokens);

} // namespace etna::generate
