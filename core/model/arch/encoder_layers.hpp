#pragma once

#include "core/model/blocks/attention.hpp"
#include "core/model/config.hpp"
#include "core/model/tensor_table.hpp"

#include <cstdint>

// Shared by the text encoders bert, nomic-bert and jina-bert-v2.
namespace etna::model {

/// Reads the configuration of a post-norm encoder, with the token types of tokenizer.ggml.token_type_count.
/// Errors are recorded in the reader.
Config read_post_norm_encoder(MetadataReader& reader, kernels::RotaryPairs pairs);

/// How the layers of an encoder are stored.
struct EncoderTensors {
    Storage projections = Storage::separate; ///< fused: q, k and v in attn_qkv
    Storage gate_and_up = Storage::separate; ///< fused: in ffn_up
    bool has_gate = false;                   ///< the feed-forward block is gated
    bool has_biases = false;                 ///< the projections have biases, and so has an ungated ffn_up
    bool has_output_biases = false;          ///< attn_output and ffn_down have biases
};

/// Declares the matrices of a layer and their biases.
void declare_encoder_matrices(TensorTable& table, const Config& config, uint32_t layer,
                              const EncoderTensors& tensors);

/// Declares embeddings, layers and norms of read_post_norm_encoder(). The norm after a block serves as the
/// norm before the next block, and has that one's name on the device.
void declare_post_norm_encoder(TensorTable& table, const Config& config, const EncoderTensors& tensors);

} // namespace etna::model
