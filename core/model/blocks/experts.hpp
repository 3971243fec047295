#pragma once

#include "core/kernels/experts.hpp"
#include "core/kernels/gate_multiply.hpp"
#include "core/model/blocks/linear.hpp"
#include "core/model/config.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>

namespace etna::model {

/// residual += sum_e share_e Down_e (act(Gate_e h) * Up_e h) over the experts e that Router h chooses, with
/// h = rms_norm(residual) (arXiv 1701.06538).
struct ExpertsBlock {
    vk::Range norm;
    LinearWeights router; ///< [experts, width]
    kernels::MatrixStack gate;
    kernels::MatrixStack up;
    kernels::MatrixStack down;
    kernels::Gate gate_kind = kernels::Gate::silu;
    uint32_t experts_per_token = 0;
    float epsilon = 0;
    uint32_t nan_probe = 0; ///< number of its norm's probe
};

/// Declares blk.<layer>.ffn_norm, ffn_gate_inp and ffn_*_exps.
void declare_experts(TensorTable& table, const Config& config, uint32_t layer);

/// The block over tensors that declare_experts() declared.
ExpertsBlock experts_block(const Weights& weights, const Config& config, uint32_t layer);

/// Records the block. Its steps are separated by barriers; none before the first or after the last.
void record(const Recording& recording, const ExpertsBlock& block);

} // namespace etna::model
