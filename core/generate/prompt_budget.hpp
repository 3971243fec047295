#pragma once

#include "core/base/cancel.hpp"

#include <cstddef>
#include <functional>

namespace etna::generate {

/// Called before an allocation that grows with the prompt, with its size in bytes; returning false refuses
/// it.
using ReserveMemory = std::function<bool(std::size_t bytes)>;

/// Limits on encoding a prompt; empty: unlimited.
struct PromptBudget {
    CancelPoll is_cancelled = {};      ///< true cancels the encoding
    ReserveMemory reserve_memory = {}; ///< false fails the encoding
};

} // namespace etna::generate
