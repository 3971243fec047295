#pragma once

#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>
#include <optional>
#include <vector>

// Kernel selection: pure functions of shape, layout and target, tested without a device. Sizes of workgroups
// come from the target's tuning, else from the tables in policy.cpp. Nothing may depend on the number of rows
// in a step, except the number of columns per workgroup, which affects no sum. An untrusted variant
// (PlanTarget::untrusted) is selected only if no other kernel can run.
namespace etna::kernels {

/// Invocations that reduce one row together, and whether they are guaranteed to be one subgroup.
struct ReducePlan {
    shaders::Reduce reduce = shaders::Reduce::shared;
    uint32_t workgroup = 64;
    uint32_t one_subgroup = 0;

    bool operator==(const ReducePlan&) const = default;
};
/// `subgroup`: the shader's variant with subgroup arithmetic; if it is untrusted, the plan is for the other
/// variant.
ReducePlan reduce_plan(const PlanTarget& target, shaders::Variant subgroup);

/// The same for norms, whose dispatches have few rows: more invocations share a row of many columns.
ReducePlan norm_plan(const PlanTarget& target, uint32_t columns);

/// The same for the router of a mixture of experts, whose dispatches have few rows too.
ReducePlan expert_router_plan(const PlanTarget& target, uint32_t columns);

/// Slices of eight invocations that share a tile.
constexpr uint32_t tile_parts = 4;

enum class LinearKernel : uint8_t { rows, prompt, matrix, matrix_tiles, lanes, tiles };

/// Subgroups that share a tile of sums: of `matrix` at least, of `matrix_tiles` exactly.
constexpr uint32_t matrix_subgroups = 4;

struct LinearPlan {
    LinearKernel kernel = LinearKernel::rows;
    ReducePlan reduce;      ///< of `rows`
    vk::MatrixShape shape;  ///< of `matrix` and `matrix_tiles`
    uint32_t workgroup = 0; ///< of `matrix`: a multiple of every subgroup size; of `matrix_tiles` and `tiles`
    uint32_t parts = 1;     ///< of `tiles`: slices of eight invocations that share a tile; of `matrix_tiles`:
                            ///< subgroups along the rows
    uint32_t rows_each = 1; ///< weight rows (lanes, tiles: groups of 8) that one workgroup computes
    uint32_t columns_each = 1; ///< activation rows that one workgroup computes
    uint32_t ahead = 1;        ///< of `matrix_tiles`: steps of weights that are loaded together
    uint32_t splits = 1;       ///< of `matrix_tiles`: parts of k, whose sums sum_parts() adds
    uint32_t code_bytes = 0;   ///< of `tiles`: bytes of an input's code; 0: f16
    uint32_t subgroup = 0;     ///< required size of a subgroup; 0: the driver's choice

    bool operator==(const LinearPlan&) const = default;
};

/// Errors: unsupported if the target cannot run any kernel for this layout.
Result<LinearPlan> linear_plan(const PlanTarget& target, Layout layout, uint32_t rows, uint32_t columns,
                               RowPath path, uint32_t count,
                               OperandPrecision factors = OperandPrecision::f16_allowed);

/// Invocations of a workgroup of the experts' kernels for matrices in tiles: of one that walks over the
/// `tiles` of a group of rows, and of one that walks over those of a row's experts together.
uint32_t expert_tiles_workgroup(const PlanTarget& target, uint32_t tiles);
uint32_t expert_down_workgroup(const PlanTarget& target, uint32_t tiles);

/// Whether prefill rows of matrices in tiles read the input's packed form, unless the matrix may not be
/// rounded.
bool prompts_read_packed(const PlanTarget& target);

/// A kernel of experts' matrices in tiles, and bytes of an input's code; 0: f16.
struct ExpertTilesPlan {
    shaders::Variant variant;
    uint32_t code_bytes = 0;
};
ExpertTilesPlan expert_tiles_plan(const PlanTarget& target, Format format);
ExpertTilesPlan expert_down_plan(const PlanTarget& target, Format format);

/// The shader of a plan.
shaders::Variant linear_variant(const LinearPlan& plan, Layout layout);

/// A plan of fused_linear: `tiles` with half of its groups of rows for the other matrix of a gated pair.
struct FusedLinearPlan {
    LinearPlan tiles;
    uint32_t output_rows = 8; ///< of a workgroup; divides tile_columns

    bool operator==(const FusedLinearPlan&) const = default;
};
FusedLinearPlan fused_linear_plan(const PlanTarget& target, Format format, uint32_t rows, uint32_t columns,
                                  uint32_t count, bool is_gated);

/// The shader of a plan.
shaders::Variant fused_linear_variant(const FusedLinearPlan& plan, Format format);

/// A plan of heads_linear: `tiles` with workgroups whose rows divide those of a head.
LinearPlan heads_linear_plan(const PlanTarget& target, Format format, uint32_t rows, uint32_t columns,
                             uint32_t count, uint32_t head_dim);

/// The shader of a plan.
shaders::Variant heads_linear_variant(const LinearPlan& plan, Format format);

/// Bytes of an input's code, in kernels that read codes.
uint32_t code_bytes_at(Precision precision);

/// The PACKED constant of kernels that write blocks of activations: 1: f16, 2: f16 and codes.
uint32_t written_blocks(const PlanTarget& target);

/// Sizes that a shape's kernel can have on a target, the policy's first: what `etna tune` measures and what a
/// Tuning may hold. Empty if no plan of the target runs the kernel. Pure; ignores PlanTarget::tuning.
std::vector<WorkgroupSizes> tuning_candidates(const PlanTarget& target, const TunedShape& shape);

/// Whether the lanes kernels can run: they need one subgroup of at least 8 invocations.
bool lanes_usable(const vk::DeviceProfile& profile);

/// `general` runs every shape and both paths; it needs attention_merge for rows of several KV splits.
/// `decode` runs decode rows of common shapes, and merges them itself. `prompt` runs prefill rows on matrix
/// units.
enum class AttentionKernel : uint8_t { general, decode, prompt };

struct AttentionPlan {
    AttentionKernel kernel = AttentionKernel::general;
    uint32_t workgroup = 64;
    uint32_t heads = 1; ///< query heads that one workgroup serves; divides q_heads / kv_heads
    // Of `prompt`:
    uint32_t subgroup = 0; ///< size of a subgroup: required, or the only one of the device
    uint32_t blocks = 0;   ///< matrices of shape.rows rows that a subgroup multiplies by the same keys
    uint32_t tile = 0;     ///< keys in shared memory
    uint32_t held = 0;     ///< elements of a query in registers; the others are in shared memory
    vk::MatrixShape shape = {};

    /// Rows of the batch that one workgroup of `prompt` serves.
    [[nodiscard]] uint32_t rows_each() const { return workgroup / subgroup * blocks * shape.rows / heads; }

    bool operator==(const AttentionPlan&) const = default;
};
AttentionPlan attention_plan(const PlanTarget& target, const AttentionShape& shape, RowPath path);

/// The shader of a plan.
shaders::Variant attention_variant(const AttentionPlan& plan);

} // namespace etna::kernels
