#pragma once

#include "core/kernels/rows.hpp"

#include <cstdint>

namespace etna::kernels {

/// Activation function of a gate.
enum class Gate : uint8_t {
    silu, ///< x / (1 + exp(-x))
    gelu, ///< x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, arXiv 1606.08415
};

/// gate = act(gate) * up, elementwise; in place.
struct GateMultiply {
    Activations gate;
    Activations up;
    uint32_t first = 0;
    uint32_t count = 0;
    Gate kind = Gate::silu;
};
void gate_multiply(Library& library, vk::Recorder& recorder, const GateMultiply& operation);

} // namespace etna::kernels
