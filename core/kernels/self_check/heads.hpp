#pragma once

#include "core/kernels/operations/rotary_store.hpp"
#include "core/kernels/self_check/kernel_run.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace etna::kernels {

/// The norm, rotation and temperature of RotaryStore.
struct TurnedHead {
    uint32_t rotated = 0;
    RotaryPairs pairs = RotaryPairs::adjacent;
    bool norms = false;
    float epsilon = 0;
    float temperature_scale = 0;
    uint32_t temperature_tokens = 1;
};

/// One head after norm and rotation; `norm` is [head size], `angles` are (cos, sin) of each pair.
std::vector<Bounded> turned(const TurnedHead& how, const std::vector<Bounded>& head,
                            std::span<const float> norm, std::span<const float> angles);

/// An element of a query head times the temperature of its position.
Bounded warmed(const TurnedHead& how, Bounded element, uint32_t position);

} // namespace etna::kernels
