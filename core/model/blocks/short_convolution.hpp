#pragma once

#include "core/model/blocks/linear.hpp"
#include "core/model/config.hpp"
#include "core/model/layer_state.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>
#include <string_view>

namespace etna::model {

/// residual += O (c * convolution(b * x)) with b, c, x = In rms_norm(residual): the short convolution of LFM2
/// (transformers, modeling_lfm2.py).
struct ShortConvolutionBlock {
    using State = ShortConvolutionState;

    InputNorm norm;
    LinearWeights input; ///< [3 channels, width]: the rows of b, c and x
    OutputMatrix output;
    vk::Range convolution; ///< f32 [channels][convolution_width]
    uint32_t convolution_width = 0;
};

/// End of the name of the convolution's tensor, which no other mixer has.
constexpr std::string_view short_convolution_name = ".shortconv.conv.weight";

/// Declares attn_norm and shortconv.* of blk.<layer>. Precondition: the layer's mixer is a short convolution.
void declare_short_convolution(TensorTable& table, const Config& config, uint32_t layer);

/// The block over tensors that declare_short_convolution() declared.
ShortConvolutionBlock short_convolution_block(const Weights& weights, const Config& config, uint32_t layer);

/// Records the block over the sequences of the step.
void record(const Recording& recording, const ShortConvolutionBlock& block,
            const ShortConvolutionState& state);

} // namespace etna::model
