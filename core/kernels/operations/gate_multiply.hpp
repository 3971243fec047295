#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>
#include <optional>

namespace etna::kernels {

/// Activation function of a gate; numbers as in shaders/activation/gated.glsl.
enum class Gate : uint8_t {
    silu, ///< x / (1 + exp(-x))
    gelu, ///< x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, arXiv 1606.08415
    /// y / (1 + exp(-1.702 y)) with y = min(x, 7); up becomes clamp(up, -7, 7) + 1, arXiv 2508.10925
    clamped_silu,
    sigmoid,  ///< 1 / (1 + exp(-x))
    relu,     ///< max(x, 0), arXiv 2002.05202; of equal gate and up, their square
    gelu_erf, ///< x (1 + erf(x / sqrt(2))) / 2, arXiv 1606.08415
};

/// Biases of a mixture's experts.
struct GateBiases {
    vk::Range gate = {};    ///< f32 [expert_count][columns]
    vk::Range up = {};      ///< f32 [expert_count][columns]
    vk::Range experts = {}; ///< u32, the expert of each row of gate and up (ExpertRouting::experts)
    uint32_t expert_count = 0;
};

/// gate = act(gate) * up, elementwise; in place. Biases are added to gate and up first.
struct GateMultiply {
    Activations gate;
    Activations up;
    bool is_alone = false; ///< gate = act(gate): `up` is not read, and may be `gate`
    uint32_t first = 0;
    uint32_t count = 0;
    Gate kind = Gate::silu;
    std::optional<GateBiases> biases = std::nullopt;
    /// [rows, 1]: each row is also multiplied by 1 / (1 + exp(-row_gate)).
    std::optional<Activations> row_gate = std::nullopt;
    bool packed = false; ///< also writes the packed form of `gate`
};
void gate_multiply(const Launcher& launcher, const GateMultiply& operation);

extern const Operation gate_multiply_operation;

} // namespace etna::kernels
