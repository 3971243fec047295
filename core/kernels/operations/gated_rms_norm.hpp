#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>

namespace etna::kernels {

enum class GatedNorm : uint8_t {
    norm_first, ///< heads share the weight
    gate_first, ///< each head has its own weight
};

/// values = values / sqrt(mean(values^2) + epsilon) * weight * silu(gate) for each head, silu(x) = x / (1 +
/// exp(-x)); in place. The output norm of a gated delta net (arXiv 2412.06464). With gate_first,
/// values = v / sqrt(mean(v^2) + epsilon) * weight, v = values * silu(gate): that of Mamba 2
/// (arXiv 2405.21060).
struct GatedRmsNorm {
    Activations values;    ///< [rows, heads * head_dim]
    Activations gate;      ///< of the same columns
    vk::Range weight = {}; ///< f32 [head_dim]; gate_first: f32 [heads][head_dim]
    uint32_t head_dim = 0;
    uint32_t first = 0;
    uint32_t count = 0;
    float epsilon = 1e-6F;
    GatedNorm order = GatedNorm::norm_first;
};
void gated_rms_norm(const Launcher& launcher, const GatedRmsNorm& operation);

extern const Operation gated_rms_norm_operation;

} // namespace etna::kernels
