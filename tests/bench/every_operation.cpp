#include "tests/bench/every_operation.hpp"

#include "core/kernels/matrix_rate.hpp"
#include "core/kernels/operations.hpp"
#include "core/kernels/operations/altup.hpp"
#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/delta_net.hpp"
#include "core/kernels/operations/embed.hpp"
#include "core/kernels/operations/expert_matrix.hpp"
#include "core/kernels/operations/experts.hpp"
#include "core/kernels/operations/fused_linear.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/operations/gated_rms_norm.hpp"
#include "core/kernels/operations/heads_linear.hpp"
#include "core/kernels/operations/heads_product.hpp"
#include "core/kernels/operations/latent_store.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/operations/mamba2.hpp"
#include "core/kernels/operations/pack.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/rotary_store.hpp"
#include "core/kernels/operations/sample.hpp"
#include "core/kernels/operations/short_convolution.hpp"
#include "core/kernels/operations/soft_cap.hpp"
#include "core/kernels/operations/sum_parts.hpp"
#include "core/kernels/operations/suppress.hpp"
#include "tests/bench/operations/cases.hpp"

#include <algorithm>

namespace etna::bench {
namespace {

struct OperationCases {
    const Operation* operation;
    AddCases* add;
};

/// A row for each of kernels::operations().
constexpr OperationCases all_cases[] = {
    {&embed_operation, add_embed_cases},
    {&linear_operation, add_linear_cases},
    {&fused_linear_operation, add_fused_linear_cases},
    {&heads_linear_operation, add_heads_linear_cases},
    {&expert_gate_up_operation, add_expert_gate_up_cases},
    {&expert_linear_operation, add_expert_linear_cases},
    {&expert_down_operation, add_expert_down_cases},
    {&expert_matrix_operation, add_expert_matrix_cases},
    {&heads_product_operation, add_heads_product_cases},
    {&rms_norm_operation, add_rms_norm_cases},
    {&pack_operation, add_pack_cases},
    {&pack_f16_operation, add_pack_f16_cases},
    {&sum_parts_operation, add_sum_parts_cases},
    {&rotary_store_operation, add_rotary_store_cases},
    {&latent_store_operation, add_latent_store_cases},
    {&attention_operation, add_attention_cases},
    {&attention_merge_operation, add_attention_merge_cases},
    {&gate_multiply_operation, add_gate_multiply_cases},
    {&soft_cap_operation, add_soft_cap_cases},
    {&expert_route_operation, add_expert_route_cases},
    {&expert_router_operation, add_expert_router_cases},
    {&expert_group_operation, add_expert_group_cases},
    {&expert_sum_operation, add_expert_sum_cases},
    {&short_convolution_operation, add_short_convolution_cases},
    {&delta_net_operation, add_delta_net_cases},
    {&mamba2_operation, add_mamba2_cases},
    {&gated_rms_norm_operation, add_gated_rms_norm_cases},
    {&altup_operation, add_altup_cases},
    {&match_rms_operation, add_match_rms_cases},
    {&statistical_top_k_operation, add_statistical_top_k_cases},
    {&suppress_operation, add_suppress_cases},
    {&sample_partial_operation, add_sample_partial_cases},
    {&sample_finish_operation, add_sample_finish_cases},
};

void add_rates(Cases& cases, const PlanTarget& target) {
    for (const RateUnits units : {RateUnits::arithmetic, RateUnits::matrix}) {
        if (units == RateUnits::matrix && !usable(shaders::matrix_rate(), target.profile))
            continue;
        cases.push_back({units == RateUnits::matrix ? "matrix_rate" : "arithmetic_rate",
                         [=](Library& library, vk::Recorder& recorder) {
                             Space space;
                             rate({library, recorder}, {.units = units, .output = space.take()});
                         }});
    }
}

} // namespace

std::vector<OperationCase> every_operation(const PlanTarget& target) {
    Cases cases;
    for (const OperationCases& one : all_cases)
        one.add(cases, target);
    add_rates(cases, target);
    return cases;
}

bool has_cases(const Operation& operation) {
    return std::ranges::find(all_cases, &operation, &OperationCases::operation) != std::end(all_cases);
}

} // namespace etna::bench
