#pragma once

#include "core/kernels/linear.hpp"
#include "core/model/step.hpp"

namespace etna::model {

/// A matrix and its bias, if it has one.
struct LinearWeights {
    kernels::Matrix weight;
    std::optional<vk::Range> bias;
    kernels::OperandPrecision factors = kernels::OperandPrecision::f16_allowed;
};

/// Records output (=|+=) W input for every row range of the step, each on its path, without barriers in
/// between.
void record_linear(const Recording& recording, const LinearWeights& weights,
                   const kernels::Activations& input, const kernels::Activations& output,
                   kernels::Store store);

/// Whether decode rows of these weights read their input's halves.
inline bool reads_halves(const LinearWeights& weights) {
    return weights.weight.layout.arrangement == kernels::Arrangement::tiles;
}

/// Records the halves of the step's decode rows and a barrier, if `requested`. The rows must be visible.
void record_halves(const Recording& recording, const kernels::Activations& input, bool requested);

/// The norm at the beginning of a block.
struct InputNorm {
    vk::Range weight;
    float epsilon = 0;
    uint32_t nan_probe = 0; ///< see nan_probe.hpp
};

/// Records Activations::hidden = rms_norm(residual) for all rows, with its halves if requested, and a
/// barrier.
void record_norm(const Recording& recording, const InputNorm& norm, bool halves = false);

/// Optional norm of a block's result before the residual add.
struct PostNorm {
    std::optional<vk::Range> weight; ///< empty: the result is added unchanged
    float epsilon = 0;
};

/// Records residual += W input, or residual += rms_norm(W input), which passes through Activations::hidden.
/// The input must be visible; no barrier after the last step.
void record_output(const Recording& recording, const LinearWeights& weights,
                   const kernels::Activations& input, const PostNorm& norm);

} // namespace etna::model
