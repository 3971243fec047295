#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etna::sampling {

/// Maximum length of a sequence breaker, in tokens.
constexpr uint32_t breaker_tokens_max = 64;

/// Token sequences across which DRY detects no repetition: line ends, quotes and the like. Immutable.
class SequenceBreakers {
public:
    SequenceBreakers() = default;

    /// Errors: invalid_argument (an empty sequence, one longer than breaker_tokens_max).
    static Result<SequenceBreakers> create(std::vector<std::vector<TokenId>> sequences);

    /// Whether `token` alone is a breaker.
    [[nodiscard]] bool contains(TokenId token) const;

    /// Returns the number of tokens after the last breaker in `tokens`, at most `limit`.
    [[nodiscard]] std::size_t tokens_after_last(std::span<const TokenId> tokens, std::size_t limit) const;

private:
    [[nodiscard]] bool ends(std::span<const TokenId> tokens) const;

    std::vector<TokenId> single_;              ///< sequences of one token, ascending
    std::vector<std::vector<TokenId>> longer_; ///< the others, each reversed, ascending
};

} // namespace etna::sampling
