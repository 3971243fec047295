#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>

namespace etna::kernels {

/// values = cap tanh(scale values / cap), or scale values without a cap, elementwise, rows [0, count); in
/// place. Source: arXiv 2408.00118.
struct SoftCap {
    Activations values;
    uint32_t count = 0;
    float cap = 0; ///< 0: none
    float scale = 1;
};
void soft_cap(const Launcher& launcher, const SoftCap& operation);

extern const Operation soft_cap_operation;

} // namespace etna::kernels
