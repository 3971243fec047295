#pragma once

#include "core/model/blocks/experts.hpp"
#include "core/model/blocks/feed_forward.hpp"
#include "core/model/blocks/linear.hpp"
#include "core/model/config.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>

namespace etna::model {

/// residual += norm(norm(dense(norm(residual))) + norm(experts(norm(residual)))), where each norm has its own
/// weight, and Router norm(residual) chooses the experts (Gemma 4; transformers, modeling_gemma4.py).
struct ParallelExpertsBlock {
    FeedForwardBlock dense; ///< `down` stores into Activations::branches, and its post norm is there
    vk::Range router_norm;  ///< divided by sqrt(width)
    ExpertsBlock experts;   ///< its norm is that of their input
    vk::Range experts_norm; ///< of their sum
    PostNorm post_norm;     ///< of both branches
};

/// Declares both branches of blk.<layer>. Precondition: ExpertConfig::has_dense_branch.
void declare_parallel_experts(TensorTable& table, const Config& config, uint32_t layer);

/// The block over tensors that declare_parallel_experts() declared.
ParallelExpertsBlock parallel_experts_block(const Weights& weights, const Config& config, uint32_t layer);

/// Records the block.
void record(const Recording& recording, const ParallelExpertsBlock& block);

} // namespace etna::model
