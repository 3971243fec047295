#pragma once

#include "core/kernels/kv_cache.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/sequences.hpp"
#include "tests/bench/every_operation.hpp"

#include <string>
#include <string_view>
#include <vector>

// The cases of each operation, one file per header of core/kernels/operations, and what they share.
namespace etna::bench {

using namespace kernels;
using Cases = std::vector<OperationCase>;

/// Appends the cases of an operation: each variant and specialisation that plans for the target may select.
using AddCases = void(Cases& cases, const PlanTarget& target);

AddCases add_altup_cases;
AddCases add_attention_cases;
AddCases add_attention_merge_cases;
AddCases add_delta_net_cases;
AddCases add_embed_cases;
AddCases add_expert_down_cases;
AddCases add_expert_gate_up_cases;
AddCases add_expert_group_cases;
AddCases add_expert_linear_cases;
AddCases add_expert_matrix_cases;
AddCases add_expert_route_cases;
AddCases add_expert_router_cases;
AddCases add_expert_sum_cases;
AddCases add_fused_linear_cases;
AddCases add_gate_multiply_cases;
AddCases add_gated_rms_norm_cases;
AddCases add_pack_cases;
AddCases add_pack_f16_cases;
AddCases add_sum_parts_cases;
AddCases add_heads_linear_cases;
AddCases add_heads_product_cases;
AddCases add_latent_store_cases;
AddCases add_linear_cases;
AddCases add_mamba2_cases;
AddCases add_match_rms_cases;
AddCases add_rms_norm_cases;
AddCases add_rotary_store_cases;
AddCases add_sample_finish_cases;
AddCases add_sample_partial_cases;
AddCases add_short_convolution_cases;
AddCases add_soft_cap_cases;
AddCases add_statistical_top_k_cases;
AddCases add_suppress_cases;

constexpr uint32_t width = 4096;
constexpr uint32_t batch_rows_max = 64;
constexpr uint32_t context_tokens = 8192; ///< more than one run of keys: attention_merge follows

/// Address space without memory: recording only uses addresses and sizes.
class Space {
public:
    vk::Range take() {
        constexpr uint64_t bytes = uint64_t{1} << 32U; // more than any case here touches
        next_ += bytes;
        return {.address = next_, .bytes = bytes};
    }

private:
    uint64_t next_ = 0;
};

Activations activations(Space& space, uint32_t columns);
Matrix matrix(Space& space, Layout layout, uint32_t rows); ///< of `width` columns
Rows rows_of(Space& space);                                ///< one row
Sequences one_sequence(Space& space);                      ///< of one row

/// Every layout, whichever the target prefers: --plan-as may ask for another.
std::vector<Layout> every_layout();
/// Those that some plan loads weights in.
std::vector<Layout> possible_layouts(const PlanTarget& target);
std::vector<Layout> possible_tiles(const PlanTarget& target);

constexpr uint32_t usual_kv_heads = 8;
constexpr CacheFormats cache_formats[] = {{CacheFormat::f32, CacheFormat::f32},
                                          {CacheFormat::f16, CacheFormat::f16},
                                          {CacheFormat::q8_0, CacheFormat::q8_0},
                                          {CacheFormat::q8_0, CacheFormat::f16},
                                          {CacheFormat::f16, CacheFormat::q8_0}};
std::string_view name_of(CacheFormat format);
std::string name_of(CacheFormats formats);
/// Of usual_kv_heads heads.
LayerCache layer_cache(Space& space, CacheFormats formats, uint32_t head_dim);
/// DeepSeek's: latents of 512 elements, and 64 that are rotated.
LayerCache latent_cache(Space& space, CacheFormat format);

} // namespace etna::bench
