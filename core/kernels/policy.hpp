#pragma once

#include "core/kernels/operations.hpp"

#include <cstdint>

// Which kernel an operation gets: pure functions of shape, layout and target, tested without a device. This
// is the part to retune. Nothing here may depend on how many rows share a step, except for how many columns
// one workgroup takes, which changes no sum. A variant that is not trusted (PlanTarget::untrusted) is chosen
// only where there is no other.
namespace etna::kernels {

/// Invocations that reduce one row together, and whether they are one subgroup for certain.
struct ReducePlan {
    shaders::Reduce reduce = shaders::Reduce::shared;
    uint32_t workgroup = 64;
    uint32_t one_subgroup = 0;

    bool operator==(const ReducePlan&) const = default;
};
/// `subgroup`: the shader's variant with subgroup arithmetic; where it is not trusted, the plan is for the
/// other one.
ReducePlan reduce_plan(const PlanTarget& target, shaders::Variant subgroup);

enum class LinearKernel : uint8_t { rows, tile, matrix, lanes };

/// Subgroups that share a tile of the matrix kernel, at least.
constexpr uint32_t matrix_subgroups = 4;

struct LinearPlan {
    LinearKernel kernel = LinearKernel::rows;
    ReducePlan reduce;         ///< of `rows`
    vk::MatrixShape shape;     ///< of `matrix`
    uint32_t workgroup = 0;    ///< of `matrix`: whole subgroups, whatever their size
    uint32_t rows_each = 1;    ///< weight rows (lanes: groups of 8) that one workgroup computes
    uint32_t columns_each = 1; ///< activation rows that one workgroup computes

    bool operator==(const LinearPlan&) const = default;
};

/// Errors: unsupported when the target cannot run any kernel for this layout.
Result<LinearPlan> linear_plan(const PlanTarget& target, Layout layout, uint32_t rows, RowPath path,
                               uint32_t count, Factors factors = Factors::may_round);

/// The shader of a plan.
shaders::Variant linear_variant(const LinearPlan& plan, Format format);

/// True when the lanes kernels may run: they need one subgroup of at least 8 invocations.
bool lanes_usable(const vk::DeviceProfile& profile);

struct AttentionPlan {
    uint32_t workgroup = 64;
    uint32_t heads = 1; ///< query heads that one workgroup serves; divides q_heads / kv_heads
};
AttentionPlan attention_plan(const PlanTarget& target, uint32_t q_heads, uint32_t kv_heads,
                             uint32_t head_dim);

} // namespace etna::kernels
