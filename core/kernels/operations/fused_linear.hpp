#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>
#include <optional>

namespace etna::kernels {

/// The rms_norm of a fused linear's output, as far as its producer can compute it: see PendingNorm.
struct NextNorm {
    vk::Range weight = {};  ///< f32 [weight.rows]
    vk::Range squares = {}; ///< f32 [rows][weight.rows / tile_columns], written
    NanProbe nan_probe =
        {}; ///< a sum of squares that is not finite lowers its row's entry to this probe's number
};

/// The other factor of a gated pair of matrices.
struct GatedBy {
    Matrix up; ///< shape and layout of the gate's
    Gate kind = Gate::silu;
};

/// Linear for decode rows of a matrix in tiles, and the packed form of its result for the next matrix: y
/// (=|+=) W x, or y = act(W x) * Up x. The packed form represents y, or y times the weights of the next norm,
/// which stays pending. Needs can_fuse().
struct FusedLinear {
    Matrix weight; ///< rows are a multiple of tile_columns
    std::optional<GatedBy> gated = std::nullopt;
    Activations input;
    std::optional<PendingNorm> norm = std::nullopt; ///< of the input
    Activations output;                             ///< y; columns == weight.rows
    Activations packs = {}; ///< their packed form is written: y's, or with `next_norm` the next input's
    std::optional<NextNorm> next_norm = std::nullopt;
    vk::Range counters = {}; ///< zeros of fused_counter_bytes(), which are zero again afterwards
    uint32_t first = 0;
    uint32_t count = 0;
    Store store = Store::replace;                 ///< without `gated`
    std::optional<vk::Range> bias = std::nullopt; ///< f32 [weight.rows], without `gated`
};
void fused_linear(const Launcher& launcher, const FusedLinear& operation);

/// Counters of `rows` decode rows of an output with this many columns.
uint64_t fused_counter_bytes(uint32_t rows, uint32_t columns);

/// Whether fused_linear() can run, rightly, for a matrix: it is in tiles and in one part, and its rows are
/// whole tiles of the next matrix.
bool can_fuse(const PlanTarget& target, const Matrix& weight);

extern const Operation fused_linear_operation;

} // namespace etna::kernels
