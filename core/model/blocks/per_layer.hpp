#pragma once

#include "core/kernels/operations/gate_multiply.hpp"
#include "core/model/blocks/linear.hpp"
#include "core/model/config.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>

namespace etna::model {

/// The inputs of all layers, for each row with the embedding x and the token t, and d columns each:
/// p = (rms_norm(Projection x / sqrt(width)) + sqrt(d) Table[t]) / sqrt(2), with a norm for each layer's d
/// columns (Gemma 3n and 4; transformers, modeling_gemma4.py). Rows without a token read token 0.
struct PerLayerInputs {
    kernels::Matrix table;    ///< [vocabulary, layers x d]
    LinearWeights projection; ///< [layers x d, width]
    vk::Range norm;           ///< f32 [d], divided by sqrt(2)
    float epsilon = 0;        ///< of the norm, times width
    float table_scale = 1;
    uint32_t layers = 0;
};

/// residual += rms_norm(Down (act(Gate residual) * p)), with p the layer's own input.
struct PerLayerBlock {
    LinearWeights gate; ///< [d, width]
    OutputMatrix down;  ///< [width, d]
    kernels::Gate gate_kind = kernels::Gate::gelu;
    uint32_t layer = 0;
};

/// Declares per_layer_*; nothing if Config::per_layer_width is 0.
void declare_per_layer_inputs(TensorTable& table, const Config& config);
/// Declares blk.<layer>.inp_gate, proj and post_norm; nothing if Config::per_layer_width is 0.
void declare_per_layer(TensorTable& table, const Config& config, uint32_t layer);

// Over tensors that the functions above declared.
PerLayerInputs per_layer_inputs(const Weights& weights, const Config& config);
PerLayerBlock per_layer_block(const Weights& weights, const Config& config, uint32_t layer);

/// Records Activations::per_layer_inputs from the residual, which holds embeddings.
void record(const Recording& recording, const PerLayerInputs& inputs);
void record(const Recording& recording, const PerLayerBlock& block);

/// Records act(Gate input) * p, packed if `down` reads them, into rows of the arena, which it returns.
kernels::Activations record_layer_input(const Recording& recording, const PerLayerBlock& block,
                                        const kernels::Activations& input);

} // namespace etna::model
