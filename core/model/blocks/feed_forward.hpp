#pragma once

#include "core/model/blocks/linear_runs.hpp"
#include "core/model/config.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>

namespace etna::model {

/// residual += Down (silu(Gate h) * Up h) with h = rms_norm(residual) (SwiGLU, arXiv 2002.05202).
struct FeedForwardBlock {
    vk::Range norm;
    LinearWeights gate;
    LinearWeights up;
    LinearWeights down;
    float epsilon = 0;
};

/// Declares blk.<layer>.ffn_* .
void declare_feed_forward(TensorTable& table, const Config& config, uint32_t layer);

/// The block over tensors that declare_feed_forward() declared.
FeedForwardBlock feed_forward_block(const Weights& weights, const Config& config, uint32_t layer);

/// Records the block. Barriers stand between its steps, none before the first or after the last.
void record_feed_forward(const Recording& recording, const FeedForwardBlock& block);

} // namespace etna::model
