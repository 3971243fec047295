#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace etna::kernels {

constexpr std::size_t suppress_ids_max = 24;

/// logits[r][id] = -infinity for rows [0, count) and each of `ids`, in place: no sampler chooses these
/// tokens.
struct Suppress {
    Activations logits; ///< [count, vocabulary]
    uint32_t count = 0;
    std::span<const uint32_t> ids; ///< below the vocabulary; at most suppress_ids_max
};
void suppress(const Launcher& launcher, const Suppress& operation);

extern const Operation suppress_operation;

} // namespace etna::kernels
