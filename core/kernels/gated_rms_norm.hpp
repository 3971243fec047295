#pragma once

#include "core/kernels/rows.hpp"

#include <cstdint>

namespace etna::kernels {

/// values = values / sqrt(mean(values^2) + epsilon) * weight * silu(gate) for each head, silu(x) = x / (1 +
/// exp(-x)); in place. The output norm of a gated delta net (arXiv 2412.06464).
struct GatedRmsNorm {
    Activations values;    ///< [rows, heads * head_dim]
    Activations gate;      ///< of the same columns
    vk::Range weight = {}; ///< f32 [head_dim], shared by the heads
    uint32_t head_dim = 0;
    uint32_t first = 0;
    uint32_t count = 0;
    float epsilon = 1e-6F;
};
void gated_rms_norm(Library& library, vk::Recorder& recorder, const GatedRmsNorm& operation);

} // namespace etna::kernels
