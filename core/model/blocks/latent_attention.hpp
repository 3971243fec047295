#pragma once

#include "core/kernels/operations/experts.hpp"
#include "core/kernels/operations/rotary_store.hpp"
#include "core/model/blocks/linear.hpp"
#include "core/model/config.hpp"
#include "core/model/step.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::model {

/// residual += O V_h sum_j p_hj c_j over the latents c of earlier positions, with h = rms_norm(residual), the
/// scores of softmax p (K_h q_h) . c_j + rotate(r_h) . rotate(r_j), queries q || r = Q h or Q_b rms_norm(Q_a
/// h), and c || r = KV h with c normalised (DeepSeek-V2, arXiv 2405.04434, section 2.1 and appendix C).
struct LatentAttentionBlock {
    /// Queries through a narrower row.
    struct NarrowQuery {
        LinearWeights a;
        vk::Range norm; ///< f32 [query_rank]
    };

    InputNorm norm;
    std::optional<NarrowQuery> narrow_query;
    LinearWeights q;                  ///< of the block's input, or of the narrow query
    LinearWeights kv;                 ///< [rank + rotated, width]
    vk::Range latent_norm;            ///< f32 [rank]
    kernels::MatrixStack key_parts;   ///< K_h [rank, unrotated] of each head
    kernels::MatrixStack value_parts; ///< V_h [value_dim, rank] of each head
    OutputMatrix output;
    LatentConfig shape;
    uint32_t q_heads = 0;
    kernels::RotaryPairs pairs = kernels::RotaryPairs::adjacent;
    float scale = 0; ///< of the scores
    float epsilon = 0;
    uint32_t group = 0; ///< cache group
};

/// Declares blk.<layer>.attn_*. Precondition: the layer's mixer is attention with a latent.
void declare_latent_attention(TensorTable& table, const Config& config, uint32_t layer);

/// The block over tensors that declare_latent_attention() declared.
LatentAttentionBlock latent_attention_block(const Weights& weights, const Config& config, uint32_t layer);

/// The matrices that read the block's norm.
std::vector<const LinearWeights*> readers(const LatentAttentionBlock& block);

/// Records the block.
void record(const Recording& recording, const LatentAttentionBlock& block, const LayerState& state);

} // namespace etna::model
