#pragma once

#include "core/kernels/operations/short_convolution.hpp"
#include "core/model/blocks/linear.hpp"
#include "core/model/config.hpp"
#include "core/model/layer_state.hpp"
#include "core/model/mixer.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace etna::model {

/// A gated convolution over the last positions (LFM2), whose state is its last inputs.
struct ShortConvolutionConfig {
    uint32_t channels = 0;
    uint32_t width = 0; ///< from 1 to kernels::convolution_width_max
};

std::vector<StatePart> state_parts(const ShortConvolutionConfig& config);
OwnedMixer make_mixer(const ShortConvolutionConfig& mixer, const Weights& weights, const Config& config,
                      uint32_t layer);

/// residual += O (c * convolution(b * x)) with b, c, x = In rms_norm(residual): the short convolution of LFM2
/// (transformers, modeling_lfm2.py).
struct ShortConvolutionBlock {
    InputNorm norm;
    LinearWeights input; ///< [3 channels, width]: the rows of b, c and x
    OutputMatrix output;
    vk::Range convolution; ///< f32 [channels][convolution_width]
    uint32_t convolution_width = 0;
};

/// Declares attn_norm and shortconv.* of blk.<layer>. Precondition: the layer's mixer is a short convolution.
void declare_short_convolution(TensorTable& table, const Config& config, uint32_t layer);

/// The matrices that read the block's norm.
std::vector<const LinearWeights*> readers(const ShortConvolutionBlock& block);

/// Records the block over the sequences of the step.
void record(const Recording& recording, const ShortConvolutionBlock& block, const LayerState& state);

} // namespace etna::model
