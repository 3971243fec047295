#pragma once

#include "core/base/token.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace etna::sampling {

/// An unlimited window: the entire history.
constexpr uint32_t full_history = 0xFFFFFFFF;

/// The tokens before the one to sample: the prompt, then the output. Borrowed.
struct History {
    std::span<const TokenId> tokens = {};
    std::size_t prompt_tokens = 0; ///< at most tokens.size()

    /// The last `window_tokens` of prompt and output.
    [[nodiscard]] std::span<const TokenId> last(uint32_t window_tokens) const {
        return tokens.last(std::min<std::size_t>(tokens.size(), window_tokens));
    }
    /// The output tokens among the last `window_tokens`.
    [[nodiscard]] std::span<const TokenId> last_output(uint32_t window_tokens) const {
        return tokens.last(std::min<std::size_t>(tokens.size() - prompt_tokens, window_tokens));
    }
};

} // namespace etna::sampling
