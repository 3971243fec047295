#pragma once

#include "core/kernels/kv_cache.hpp"
#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace etna::kernels {

/// Upper bounds of the keys that the rows of a dispatch attend to.
struct AttendMax {
    uint32_t end = 0;  ///< largest RowInfo::attend_end
    uint32_t keys = 0; ///< largest attend_end - attend_begin

    void include(uint32_t begin, uint32_t row_end) {
        end = std::max(end, row_end);
        keys = std::max(keys, row_end - begin);
    }

    bool operator==(const AttendMax&) const = default;
};

/// The properties that select an attention kernel, in addition to the numeric path.
struct AttentionShape {
    uint32_t q_heads = 0;
    uint32_t kv_heads = 0; ///< divides q_heads
    uint32_t head_dim = 0;
    CacheFormats formats = {};
    uint32_t latent_dim = 0; ///< LayerCache's
    bool has_alibi = false;  ///< only the general kernel has it

    [[nodiscard]] uint32_t value_dim() const { return latent_dim > 0 ? latent_dim : head_dim; }
};

/// Scaled dot-product attention with online softmax over the paged cache (arXiv 1805.02867, 2205.14135): each
/// row's heads over the keys [attend_begin, attend_end) of its RowInfo. Query head h reads kv head h /
/// (q_heads / kv_heads). Decode rows split the keys into KV splits, whose length depends on the row alone,
/// and whose partials are merged in order: by the decode kernel itself, or by attention_merge. Prefill rows
/// that are neighbours and have one page table share the loads of keys and values.
struct Attention {
    Rows rows;
    Activations q;
    Activations output; ///< [rows, q_heads * value_dim]
    LayerCache cache;
    PageTables tables;
    uint32_t q_heads = 0;
    float scale = 0;
    /// The score of a key at distance d is lowered by d 2^(-alibi (h + 1) / q_heads) (arXiv 2108.12409; if
    /// q_heads is no power of two, as there); 0: it is not. Heads are narrower than 512.
    float alibi = 0;
    float softcap = 0; ///< scores s become softcap x tanh(s / softcap) (arXiv 2408.00118); 0: no cap
    RowPath path = RowPath::decode;
    uint32_t sequences = 0; ///< at least as many as the rows belong to; 0: unknown
    AttendMax attend_max = {};
    vk::Range partials = {}; ///< scratch of attention_partial_bytes(); untouched if one KV split suffices
    vk::Range counters = {}; ///< zeros of attention_counter_bytes(), which are zero again afterwards
    /// f32 [q_heads]: one more score per head, neither scaled nor capped, whose value is zero
    /// (arXiv 2309.17453)
    std::optional<vk::Range> sinks = std::nullopt;
    bool packed = false; ///< also writes the packed form of `output`, if attention_writes_packed()

    [[nodiscard]] AttentionShape shape() const {
        return {.q_heads = q_heads,
                .kv_heads = cache.kv_heads,
                .head_dim = cache.head_dim,
                .formats = cache.formats,
                .latent_dim = cache.latent_dim,
                .has_alibi = alibi != 0};
    }
};
/// Keys in one KV split of the general kernel's decode path; over a latent a multiple, by the number of its
/// heads; on a CPU fewer if an invocation would have too many loop iterations, then in the prefill path too.
uint32_t kv_split_tokens(const PlanTarget& target);
/// Keys in a tile of the decode kernel, the least that a KV split has.
constexpr uint32_t decode_tile_tokens = 2 * page_tokens;
/// Keys in one KV split of the decode kernel, for a row that attends to `keys` keys, at least one.
uint32_t decode_kv_split_tokens(uint32_t keys);
/// Scratch memory of `rows` rows; 0 if one KV split suffices, as for prefill rows on GPUs.
uint64_t attention_partial_bytes(const PlanTarget& target, const AttentionShape& shape, uint32_t rows,
                                 const AttendMax& attend_max, RowPath path = RowPath::decode);
/// Counters of `rows` decode rows; 0 if the kernel needs none.
uint64_t attention_counter_bytes(const PlanTarget& target, const AttentionShape& shape, uint32_t rows,
                                 const AttendMax& attend_max);
/// Whether the decode path can write its output's packed form itself.
bool attention_writes_packed(const PlanTarget& target, const AttentionShape& shape);
/// Whether attention_merge must follow.
bool attention_needs_merge(const PlanTarget& target, const Attention& operation);
void attention(const Launcher& launcher, const Attention& operation);
void attention_merge(const Launcher& launcher, const Attention& operation);

extern const Operation attention_operation;
extern const Operation attention_merge_operation;

} // namespace etna::kernels
