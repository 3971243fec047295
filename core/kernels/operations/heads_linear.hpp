#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/operations/rotary_store.hpp"

#include <cstdint>
#include <optional>

namespace etna::kernels {

/// A matrix whose rows are those of whole heads.
struct HeadMatrix {
    Matrix weight;                                ///< in tiles
    std::optional<vk::Range> bias = std::nullopt; ///< f32 [weight.rows]
};

/// Decode rows of q = W_q x, k = W_k x and v = W_v x, or some of them, and RotaryStore of their heads, in one
/// dispatch. Needs can_fuse_heads() of each matrix, and one layout for all.
struct HeadsLinear {
    std::optional<HeadMatrix> q = std::nullopt;
    std::optional<HeadMatrix> k = std::nullopt;
    std::optional<HeadMatrix> v = std::nullopt;
    Activations input;
    std::optional<PendingNorm> norm = std::nullopt; ///< of the input
    RotaryStore heads;       ///< its rows, and q, k and v as outputs; those of k and v are scratch memory
    vk::Range counters = {}; ///< zeros of heads_counter_bytes(), which are zero again afterwards
};
void heads_linear(const Launcher& launcher, const HeadsLinear& operation);

/// Counters of `rows` decode rows. Dispatches for different matrices of the same layer share them.
uint64_t heads_counter_bytes(uint32_t rows, uint32_t q_heads, uint32_t kv_heads);

/// Whether heads_linear() can run, rightly, for a matrix: it is in tiles and in one part, and its rows are
/// heads of a multiple of 8 elements.
bool can_fuse_heads(const PlanTarget& target, const Matrix& weight, uint32_t head_dim);

extern const Operation heads_linear_operation;

} // namespace etna::kernels
