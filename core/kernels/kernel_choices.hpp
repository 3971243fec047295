#pragma once

#include "core/base/result.hpp"
#include "core/kernels/library.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/rows.hpp"

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

namespace etna::kernels {

/// Operations of the forward pass; `linear`, `expert_linear` and `attention` have several kernels.
enum class Operation : uint8_t {
    embed,
    rms_norm,
    linear,
    fused_linear,
    heads_linear,
    halve,
    rotary_store,
    latent_store,
    attention,
    attention_merge,
    gate_multiply,
    soft_cap,
    expert_route,
    expert_router,
    expert_group,
    expert_linear,
    expert_gate_up,
    expert_down,
    expert_sum,
    heads_product,
    short_convolution,
    delta_net,
    mamba2,
    gated_rms_norm,
    altup,
    match_rms,
    statistical_top_k,
    suppress,
    sample_partial,
    sample_finish,
};

/// A kernel that the plans for a device select, and its use.
struct KernelUse {
    Operation operation = Operation::embed;
    shaders::Variant variant = {};
    Layout layout = {};                                       ///< of weights: embed, linear and its kin
    RowPath path = RowPath::decode;                           ///< linear, attention
    OperandPrecision factors = OperandPrecision::f16_allowed; ///< linear
};

/// Display name: "linear q4_k, prompt".
std::string describe(const KernelUse& use);

/// A subset of the kernels, such as those that a model needs. Bits are numbered by Format.
struct KernelScope {
    std::bitset<format_count> tables = {};   ///< of embeddings
    std::bitset<format_count> matrices = {}; ///< of layers and head
    std::bitset<format_count> stacks = {};   ///< of experts' matrices, or heads'; empty: there are none
    bool delta_nets = false;                 ///< layers with a gated delta net
    bool short_convolutions = false;         ///< layers with a gated convolution
    bool mamba2 = false;                     ///< layers of Mamba 2
    bool altup = false;                      ///< several streams with alternating updates
    bool latents = false;                    ///< layers with latent attention
    bool suppressed = false;                 ///< tokens that are never sampled
    bool odd_columns = false;                ///< some widths are no multiple of tile_columns

    static KernelScope everything();
};

/// Every kernel that the plans for a target select within a scope; a variant with two uses is listed twice.
/// Pure.
std::vector<KernelUse> kernel_uses(const PlanTarget& target, const KernelScope& scope);

/// Fails if a plan had to fall back on an untrusted kernel because no other kernel can run. Error:
/// unsupported, naming the kernel, device and driver.
Status require_trusted(const PlanTarget& target, const KernelScope& scope);

/// The kernel that one operation runs on a device, for display.
struct ChosenKernel {
    std::string operation;    ///< describe()
    std::string_view variant; ///< name of the shader variant; static
};

/// kernel_uses() of everything. Pure.
std::vector<ChosenKernel> chosen_kernels(const PlanTarget& target);

} // namespace etna::kernels
