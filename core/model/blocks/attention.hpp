#pragma once

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

/// residual += O attention(rotate(Q h), rotate(K h), V h) with h = rms_norm(residual), over the paged cache;
/// with a post norm, residual += rms_norm(O ...).
struct AttentionBlock {
    InputNorm norm;
    LinearWeights q;
    std::optional<LinearWeights> k; ///< empty: an earlier layer has stored keys and values
    std::optional<LinearWeights> v; ///< empty, with k: values are the keys before norm and rotation
    OutputMatrix output;
    std::optional<vk::Range> q_norm; ///< of each head, before rotation
    std::optional<vk::Range> k_norm;
    bool norms_values = false; ///< value heads are normalised without a weight
    float epsilon = 0;         ///< of the heads' norms
    uint32_t q_heads = 0;
    uint32_t head_dim = 0;
    uint32_t rotated = 0; ///< leading elements of a head that rotate; 0: none
    kernels::RotaryPairs pairs = kernels::RotaryPairs::adjacent;
    float scale = 0;             ///< of the scores
    float temperature_scale = 0; ///< of queries, by position (kernels::RotaryStore); 0: none
    uint32_t temperature_tokens = 0;
    float alibi = 0;                   ///< kernels::Attention's
    float softcap = 0;                 ///< of the scores; 0: none
    uint32_t group = 0;                ///< cache group
    std::optional<LinearWeights> gate; ///< the heads' outputs are multiplied by sigmoid(gate h) before O
    std::optional<vk::Range> sinks;    ///< one more logit of each head, without a value
    bool is_heads_fused = false; ///< of decode rows: projections, rotation and store in one (fusion.hpp)
};

enum class Biases : uint8_t {
    none,
    any, ///< q, k, v and output may have one each
    qkv, ///< q, k and v have one each
    all, ///< q, k, v and output have one each
};

/// Optional parts of an architecture's attention, in addition to norm, q, k, v and output.
struct AttentionTensors {
    Storage storage = Storage::separate; ///< fused: attn_qkv
    Biases biases = Biases::none;
    bool head_norms = false;          ///< q and k heads are normalised
    bool may_have_head_norms = false; ///< they are if the file has the norms
    bool sinks = false;               ///< attn_sinks
    bool post_norm = false;           ///< the block's output is normalised before the residual add
};

/// Stem of the norm of an attention block's output; gpt-oss and Qwen3.5 store the norm before the
/// feed-forward block under this name.
constexpr std::string_view post_attention_norm = "post_attention_norm";

/// Declares blk.<layer>.attn_* . Precondition: the layer's mixer is attention.
void declare_attention(TensorTable& table, const Config& config, uint32_t layer, AttentionTensors tensors);

/// The block over tensors that declare_attention() declared.
AttentionBlock attention_block(const Weights& weights, const Config& config, uint32_t layer);

/// The matrices that read the block's norm.
std::vector<const LinearWeights*> readers(const AttentionBlock& block);

/// Sets is_heads_fused.
void fuse(AttentionBlock& block, const kernels::PlanTarget& target);

/// Records the block.
void record(const Recording& recording, const AttentionBlock& block, const LayerState& state);

} // namespace etna::model
