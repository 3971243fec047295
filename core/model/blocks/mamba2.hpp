#pragma once

#include "core/kernels/operations/mamba2.hpp"
#include "core/model/blocks/linear.hpp"
#include "core/model/config.hpp"
#include "core/model/layer_state.hpp"
#include "core/model/mixer.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::model {

/// Mamba 2 after a short convolution, with a state of fixed size.
struct Mamba2Config {
    kernels::Mamba2Shape shape;
    uint32_t convolution_width = 0; ///< from 1 to kernels::convolution_width_max
    float epsilon = 0;              ///< of the norm of its output
    bool has_output_norm = true;    ///< false: the output is gated alone
    bool shares_norm = false; ///< reads the norm of the layer before, which is attention alone (Falcon H1)
};

/// ssm.*: the Mamba 2 that all recurrent layers of a model have.
Mamba2Config read_mamba2(MetadataReader& reader, const Config& config);

std::vector<StatePart> state_parts(const Mamba2Config& config);
OwnedMixer make_mixer(const Mamba2Config& mixer, const Weights& weights, const Config& config,
                      uint32_t layer);

/// residual += O norm(mamba2(x, B, C, dt) silu(z)) with z, xbc, dt = In rms_norm(residual) and x, B, C =
/// short_convolution(xbc); the norm is of each group, and may be absent. Mamba 2 (arXiv 2405.21060).
struct Mamba2Block {
    InputNorm norm;
    LinearWeights gate; ///< z
    LinearWeights xbc;
    LinearWeights dt;
    OutputMatrix output;
    vk::Range convolution;                     ///< f32 [xbc_columns][convolution_width]
    std::optional<vk::Range> convolution_bias; ///< f32 [xbc_columns]
    vk::Range decay;                           ///< f32 [heads], negative
    vk::Range dt_bias;                         ///< f32 [heads]
    vk::Range skip;                            ///< f32 [heads]
    std::optional<vk::Range> output_norm;      ///< f32 [groups][output_columns / groups]; empty: a gate alone
    kernels::Mamba2Shape shape;
    uint32_t convolution_width = 0;
    float epsilon = 0; ///< of the output's norm
};

/// Declares attn_norm and ssm_* of blk.<layer>. Precondition: the layer's mixer is Mamba 2.
void declare_mamba2(TensorTable& table, const Config& config, uint32_t layer);

/// The matrices that read the block's norm.
std::vector<const LinearWeights*> readers(const Mamba2Block& block);

/// Records the block over the sequences of the step.
void record(const Recording& recording, const Mamba2Block& block, const LayerState& state);

} // namespace etna::model
