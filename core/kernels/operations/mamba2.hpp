#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/sequences.hpp"

#include <cstdint>

namespace etna::kernels {

struct Mamba2Shape {
    uint32_t heads = 0; ///< a multiple of groups
    uint32_t groups = 0;
    uint32_t head_dim = 0;
    uint32_t state_dim = 0; ///< at most mamba2_state_dim_max

    [[nodiscard]] uint32_t output_columns() const { return heads * head_dim; }
    /// x, B and C of a row.
    [[nodiscard]] uint32_t xbc_columns() const { return output_columns() + 2 * groups * state_dim; }
};
constexpr uint32_t mamba2_state_dim_max = 256;

/// Of a slot. A state is [heads][head_dim][state_dim], a pending row [B | dt x | alpha of the heads].
uint64_t mamba2_state_bytes(const Mamba2Shape& shape);
uint64_t mamba2_pending_bytes(const Mamba2Shape& shape);

/// Mamba 2 (arXiv 2405.21060) over the rows of each sequence. Per head h with a state S
/// [head_dim][state_dim], and the B and C of group h / (heads / groups):
///     dt = softplus(dt + dt_bias), alpha = exp(decay dt),  S = alpha S + dt x B^T,  y = S C + skip x.
/// Outputs and states have the same bits however a sequence's rows are divided into steps, and whichever
/// drafts are rejected.
struct Mamba2 {
    Sequences sequences = {};
    Mamba2Shape shape;
    Activations xbc = {};   ///< [x | B | C], after the short convolution
    Activations dt = {};    ///< [rows, heads]
    vk::Range decay = {};   ///< f32 [heads], negative: ssm_a in GGUF files
    vk::Range dt_bias = {}; ///< f32 [heads]
    vk::Range skip = {};    ///< f32 [heads]: ssm_d
    RecurrentStates states;
    Activations output = {}; ///< [rows, output_columns()]
};
void mamba2(const Launcher& launcher, const Mamba2& operation);

extern const Operation mamba2_operation;

} // namespace etna::kernels
