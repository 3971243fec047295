#pragma once

#include "core/base/token.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace etna::sampling {

/// A window that never ends: the whole history.
constexpr uint32_t whole_history = 0xFFFFFFFF;

/// The tokens before the one that is chosen: the prompt, then the output. Borrowed.
struct History {
    std::span<const TokenId> tokens = {};
    std::size_t prompt_tokens = 0; ///< at most tokens.size()

    /// The last `window_tokens` of prompt and output.
    [[nodiscard]] std::span<const TokenId> last(uint32_t window_tokens) const {
        return tokens.last(std::min<std::size_t>(tokens.size(), window_tokens));
    }
    /// Those of the last `window_tokens` that are output.
    [[nodiscard]] std::span<const TokenId> last_output(uint32_t window_tokens) const {
        return tokens.last(std::min<std::size_t>(tokens.size() - prompt_tokens, window_tokens));
    }
};

} // namespace etna::sampling
