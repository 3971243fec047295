#pragma once

#include "core/kernels/kv_cache.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>

namespace etna::kernels {

/// Scaled dot-product attention with online softmax over the paged cache (arXiv 1805.02867, 2205.14135): each
/// row's heads over keys [0, index], or the last `window` of them. Query head h reads kv head h / (q_heads /
/// kv_heads). Decode rows split the keys into KV splits of fixed length, whose partials are merged in order
/// (attention_merge).
struct Attention {
    Rows rows;
    Activations q;
    Activations output; ///< [rows, q_heads * head_dim]
    LayerCache cache;
    PageTables tables;
    uint32_t q_heads = 0;
    float scale = 0;
    uint32_t window = 0; ///< 0: all keys
    float softcap = 0;   ///< scores s become softcap x tanh(s / softcap) (arXiv 2408.00118); 0: no cap
    RowPath path = RowPath::decode;
    uint32_t kv_length_max = 0; ///< largest RowInfo::index + 1 among the rows
    vk::Range partials = {};    ///< scratch of attention_partial_bytes(); untouched if one KV split suffices
};
/// Keys in one KV split of the decode path; depends on the target alone.
uint32_t kv_split_tokens(const PlanTarget& target);
uint64_t attention_partial_bytes(const PlanTarget& target, uint32_t rows, uint32_t context_tokens,
                                 uint32_t q_heads, uint32_t head_dim);
/// Whether attention_merge must follow (after a barrier).
bool attention_needs_merge(const PlanTarget& target, const Attention& operation);
void attention(Library& library, vk::Recorder& recorder, const Attention& operation);
void attention_merge(Library& library, vk::Recorder& recorder, const Attention& operation);

} // namespace etna::kernels
