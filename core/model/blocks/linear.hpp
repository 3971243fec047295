#pragma once

#include "core/kernels/operations/linear.hpp"
#include "core/model/step.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace etna::model {

/// A matrix and its bias, if it has one.
struct LinearWeights {
    kernels::Matrix weight;
    std::optional<vk::Range> bias;
    kernels::OperandPrecision factors = kernels::OperandPrecision::f16_allowed;
};

/// Records output (=|+=) W input for every row range of the step, each on its path.
void record_linear(const Recording& recording, const LinearWeights& weights,
                   const kernels::Activations& input, const kernels::Activations& output,
                   kernels::Store store);

/// A projection of a block's input.
struct Projection {
    const LinearWeights& weights;
    const kernels::Activations& output;
};

/// Whether rows of these weights read their input's packed form, prefill rows on matrix units only.
inline bool reads_packed(const LinearWeights& weights) {
    return weights.weight.layout.arrangement == kernels::Arrangement::tiles;
}

/// Whether the step has decode rows.
bool has_decode_rows(const Step& step);

/// The norm at the start of a block.
struct InputNorm {
    vk::Range weight;
    float epsilon = 0;
    uint32_t nan_probe = 0;  ///< see nan_probe.hpp
    bool is_pending = false; ///< of decode rows: prepared by the block before (fusion.hpp)
    bool is_shared = false;  ///< Activations::hidden also serves the next block
    bool is_left = false;    ///< Activations::hidden has it: the block before shared its own
    std::optional<vk::Range> bias = std::nullopt;
    bool subtracts_mean = false;    ///< layer norm
    bool replaces_residual = false; ///< the residual becomes the norm, as if the block before ended with it
};

/// Zeros of kernels::fused_counter_bytes() for the step's rows, from its arena.
vk::Range fused_counters(const Recording& recording, uint32_t columns);

/// Rows of a step that a fused operation does not cover: all, or those after the decode rows.
RowRange rows_outside(const Step& step, bool decode_is_fused);

/// Records a norm of rows [norm.output_first, + norm.count), which are those of the step with the same
/// numbers. With `is_read` by matrices in tiles also in the packed form that they read: decode rows as
/// blocks, prefill rows as `prefill_form`.
void record_norm_rows(const Recording& recording, kernels::RmsNorm norm, bool is_read,
                      kernels::PackedForm prefill_form = kernels::PackedForm::f16);

/// Records Activations::hidden = rms_norm(residual), packed as record_norm_rows() does; nothing for rows
/// whose norm is pending, or if the block before left it.
void record_norm(const Recording& recording, const InputNorm& norm, bool is_read = false,
                 kernels::PackedForm prefill_form = kernels::PackedForm::f16);

/// Records output = W hidden for each projection and row range. Decode rows of matrices in tiles share
/// dispatches. At most projections_max.
constexpr std::size_t projections_max = 4;
void record_projections(const Recording& recording, const InputNorm& norm,
                        std::span<const Projection> projections);
void record_projections(const Recording& recording, const RowRange& range, const InputNorm& norm,
                        std::span<const Projection> projections);

/// The pending norm of a block's decode rows; empty if the block computes its norm itself.
std::optional<kernels::PendingNorm> pending_norm(const Recording& recording, const InputNorm& norm);

/// Optional norm of a block's result before the residual add.
struct PostNorm {
    std::optional<vk::Range> weight; ///< empty: the result is added unchanged
    float epsilon = 0;
    std::optional<vk::Range> scale = std::nullopt; ///< f32 [1]: multiplies the residual after the addition
};

/// A matrix whose products are added to the residual.
struct OutputMatrix {
    LinearWeights weights;
    PostNorm post_norm;
    std::optional<InputNorm> next_norm; ///< of the next block, pending for decode rows (fusion.hpp)
};

/// Records residual += W input, or residual += rms_norm(W input), which passes through Activations::hidden.
void record_output(const Recording& recording, const OutputMatrix& output, const kernels::Activations& input);

} // namespace etna::model
