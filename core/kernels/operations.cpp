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

namespace etna::kernels {
namespace {

constexpr const Operation* every_operation[] = {
    &embed_operation,
    &linear_operation,
    &fused_linear_operation,
    &heads_linear_operation,
    &expert_gate_up_operation, // before expert_linear, whose kernel it shares and checks as well
    &expert_linear_operation,
    &expert_down_operation,
    &expert_matrix_operation,
    &heads_product_operation,
    &rms_norm_operation,
    &pack_operation,
    &pack_f16_operation,
    &sum_parts_operation,
    &rotary_store_operation,
    &latent_store_operation,
    &attention_operation,
    &attention_merge_operation,
    &gate_multiply_operation,
    &soft_cap_operation,
    &expert_route_operation,
    &expert_router_operation,
    &expert_group_operation,
    &expert_sum_operation,
    &short_convolution_operation,
    &delta_net_operation,
    &mamba2_operation,
    &gated_rms_norm_operation,
    &altup_operation,
    &match_rms_operation,
    &statistical_top_k_operation,
    &suppress_operation,
    &sample_partial_operation,
    &sample_finish_operation,
};

} // namespace

std::span<const Operation* const> operations() {
    return every_operation;
}

} // namespace etna::kernels
