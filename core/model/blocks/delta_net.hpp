#pragma once

#include "core/kernels/operations/delta_net.hpp"
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

/// A gated delta net after a short convolution, with a state of fixed size.
struct DeltaNetConfig {
    kernels::DeltaShape shape;
    uint32_t convolution_width = 0; ///< from 1 to kernels::convolution_width_max
    bool fused_gates = false;       ///< ssm_ba holds the rows of beta and alpha, by key head
    bool fused_inputs = false;      ///< ssm_in holds the rows of q, k, v and the output gate, by key head
};

/// ssm.*: the gated delta net that all recurrent layers of a model have, with tiled heads.
DeltaNetConfig read_delta_net(MetadataReader& reader);

std::vector<StatePart> state_parts(const DeltaNetConfig& config);
OwnedMixer make_mixer(const DeltaNetConfig& mixer, const Weights& weights, const Config& config,
                      uint32_t layer);

/// residual += O gated_rms_norm(delta_net(q, k, v, alpha h, beta h), gate h) with h = rms_norm(residual) and
/// q, k, v = short_convolution(qkv h): the gated delta net (arXiv 2412.06464) of Qwen3-Next and Qwen3.5.
struct DeltaNetBlock {
    InputNorm norm;
    LinearWeights qkv;
    LinearWeights gate;
    LinearWeights alpha;
    LinearWeights beta;
    OutputMatrix output;
    vk::Range convolution; ///< f32 [qkv_columns][convolution_width]
    vk::Range decay;       ///< f32 [value_heads], negative
    vk::Range dt_bias;     ///< f32 [value_heads]
    vk::Range output_norm; ///< f32 [value_dim], of each head
    kernels::DeltaShape shape;
    uint32_t convolution_width = 0;
    float epsilon = 0; ///< of the output's norm
};

/// End of the name of a tensor with the rows of q, k, v and the output gate of each key head.
constexpr std::string_view delta_inputs_name = ".ssm_in.weight";

/// Declares attn_norm, attn_qkv, attn_gate and ssm_* of blk.<layer>. Precondition: the layer's mixer is a
/// delta net.
void declare_delta_net(TensorTable& table, const Config& config, uint32_t layer);

/// The matrices that read the block's norm.
std::vector<const LinearWeights*> readers(const DeltaNetBlock& block);

/// Records the block over the sequences of the step.
void record(const Recording& recording, const DeltaNetBlock& block, const LayerState& state);

} // namespace etna::model
