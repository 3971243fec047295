#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/operations/experts.hpp"

#include <cstdint>
#include <optional>

namespace etna::kernels {

/// For prefill rows on matrix units, over matrices in tiles: y[pair] = W_expert(pair) x[row or pair], or with
/// `up` y[pair] = act(W_expert(pair) x + bias) * (Up_expert(pair) x + bias). Weights and inputs are rounded
/// to f16 as those of Linear; the order of a sum depends on nothing but the width.
struct ExpertMatrix {
    MatrixStack weights;                             ///< for which experts_on_units() holds
    std::optional<MatrixStack> up = std::nullopt;    ///< of the layout and shape of `weights`
    Activations input;                               ///< PackedForm::f16 is read
    Activations output;                              ///< [pairs, rows of a matrix]
    Gate kind = Gate::silu;                          ///< with `up`
    std::optional<GateBiases> biases = std::nullopt; ///< with `up`; `experts` are those of `choice`
    ExpertInput reads = ExpertInput::row;
    ExpertRouting choice; ///< `groups` was made from it
    ExpertGroups groups;  ///< of unit_tile_pairs()
};
void expert_matrix(const Launcher& launcher, const ExpertMatrix& operation);

/// Whether expert_matrix() can run, rightly, for stacks of this layout. Pure.
bool experts_on_units(const PlanTarget& target, Layout layout);

/// Pairs in a tile of expert_matrix(): more where experts have more pairs each. Pure; affects no sum. 1
/// without experts_on_units().
uint32_t unit_tile_pairs(const PlanTarget& target, uint32_t pairs, uint32_t experts);

extern const Operation expert_matrix_operation;

} // namespace etna::kernels
