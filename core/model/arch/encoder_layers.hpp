#pragma once

#include "core/model/blocks/attention.hpp"
#include "core/model/config.hpp"
#include "core/model/tensor_table.hpp"

#include <cstdint>

// What encoders of texts share: bert, nomic-bert, jina-bert-v2.
namespace etna::model {

/// Reads an encoder whose layer norms follow its blocks, and token types of
/// tokenizer.ggml.token_type_count. Errors stay in the reader.
Config read_post_norm_encoder(MetadataReader& reader, kernels::RotaryPairs pairs);

/// How the layers of an encoder are stored.
struct EncoderTensors {
    Storage projections = Storage::separate; ///< fused: q, k and v in attn_qkv
    Storage gate_and_up = Storage::separate; ///< fused: in ffn_up
    bool has_gate = false;                   ///< of the feed-forward block
    bool has_biases = false;                 ///< of the projections, and of ffn_up if there is no gate
    bool has_output_biases = false;          ///< of attn_output and ffn_down
};

/// Declares the matrices of a layer and their biases.
void declare_encoder_matrices(TensorTable& table, const Config& config, uint32_t layer,
                              const EncoderTensors& tensors);

/// Declares embeddings, layers and norms of read_post_norm_encoder(). The norm after a block is the one
/// before the next, and has its name on the device.
void declare_post_norm_encoder(TensorTable& table, const Config& config, const EncoderTensors& tensors);

} // namespace etna::model
