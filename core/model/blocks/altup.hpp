#pragma once

#include "core/model/blocks/linear.hpp"
#include "core/model/blocks/per_layer.hpp"
#include "core/model/config.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace etna::model {

/// Gemma 3n's streams 1 and up; stream 0 is the residual (transformers, modeling_gemma3n.py). Before the
/// first layer X_i = Expand_i e rms(e) / rms(Expand_i e), with the embedding e; after the last layer
/// residual += sum_i Merge_i X_i rms(residual) / rms(Merge_i X_i).
struct StreamEnds {
    std::vector<LinearWeights> expand; ///< [streams - 1], each [width, width]
    std::vector<LinearWeights> merge;
};

/// The operations around attention and feed-forward block in a layer of Gemma 3n; those two use stream 0:
///   predict: the streams become predictions of the layer's result (kernels::altup_predict);
///   Laurel (arXiv 2411.07501), after attention: with the prediction p of stream 0 and h = norm(p),
///       residual = (residual + h + norm(Right Left h)) / sqrt(2);
///   correct: kernels::altup_correct; then X_i += norm(Down (act(Gate scale X_0) * input)) for i > 0, with
///       the layer's input of PerLayerInputs.
struct AltUpBlock {
    vk::Range router; ///< f32 [streams][width]
    vk::Range router_norm;
    vk::Range prediction_coefficients;
    vk::Range correction_coefficients;
    vk::Range output_scale;
    vk::Range input_norm; ///< of attention: h
    LinearWeights left;
    LinearWeights right;
    vk::Range laurel_norm;
    PerLayerBlock per_layer; ///< `down` stores into streams above 0
    uint32_t streams = 0;    ///< with the residual
    float epsilon = 0;
};

/// Declares altup_proj and altup_unembd_proj. Precondition: Config::streams is above 1.
void declare_stream_ends(TensorTable& table, const Config& config);
/// Declares blk.<layer>.altup_* and laurel_*.
void declare_altup(TensorTable& table, const Config& config, uint32_t layer);

// Over tensors that the functions above, declare_per_layer() and declare_attention() declared.
StreamEnds stream_ends(const Weights& weights, const Config& config);
AltUpBlock altup_block(const Weights& weights, const Config& config, uint32_t layer);

// The steps.
void record_expand(const Recording& recording, const StreamEnds& ends);
void record_merge(const Recording& recording, const StreamEnds& ends);
void record_predict(const Recording& recording, const AltUpBlock& block);
void record_laurel(const Recording& recording, const AltUpBlock& block);
void record_correct(const Recording& recording, const AltUpBlock& block);

} // namespace etna::model
