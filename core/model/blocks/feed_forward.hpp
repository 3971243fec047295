#pragma once

#include "core/kernels/operations/gate_multiply.hpp"
#include "core/model/blocks/linear.hpp"
#include "core/model/config.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>
#include <optional>

namespace etna::model {

/// residual += Down (act(Gate h) * Up h) with h = rms_norm(residual) (SwiGLU and GEGLU, arXiv 2002.05202);
/// with a post norm, residual += rms_norm(Down ...). Without a gate, residual += Down max(Up h, 0)^2
/// (arXiv 2109.08668), or Down act(Up h) with another activation than ReLU.
struct FeedForwardBlock {
    InputNorm norm;
    std::optional<LinearWeights> gate;
    LinearWeights up;
    OutputMatrix down;
    kernels::Gate gate_kind = kernels::Gate::silu;
    std::optional<float> gate_deviations = std::nullopt; ///< kernels::StatisticalTopK of gates
    bool is_gate_fused = false; ///< gate, up and activation of decode rows are one dispatch (fusion.hpp)
};

/// Optional parts of an architecture's feed-forward block, in addition to norm, gate, up and down.
struct FeedForwardTensors {
    Storage storage = Storage::separate; ///< fused: gate and up in ffn_up
    bool post_norm = false;              ///< the block's output is normalised before the residual add
    bool gate = true;
};

/// Declares blk.<layer>.ffn_* .
void declare_feed_forward(TensorTable& table, const Config& config, uint32_t layer,
                          FeedForwardTensors tensors = {});

/// The block over tensors that declare_feed_forward() declared.
FeedForwardBlock feed_forward_block(const Weights& weights, const Config& config, uint32_t layer);

/// Whether decode rows of gate or up read the packed form of h.
bool reads_packed(const FeedForwardBlock& block);

/// The block's inner rows, [rows, feed_forward] each. Without a gate both are the same.
struct GatedRows {
    kernels::Activations gate; ///< then the product with `up`: the input of the last matrix
    kernels::Activations up;
};
GatedRows take_gated_rows(const Recording& recording, const FeedForwardBlock& block);

// The steps of the block between its norm and its last matrix.
/// Records gate and up of Activations::hidden; of fused decode rows their product.
void record_gate_and_up(const Recording& recording, const FeedForwardBlock& block, const GatedRows& rows);
/// Records the product of gate and up.
void record_product(const Recording& recording, const FeedForwardBlock& block, const GatedRows& rows);

/// Records the block.
void record(const Recording& recording, const FeedForwardBlock& block);

} // namespace etna::model
