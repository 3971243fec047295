#include "core/kernels/policy.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace etna::kernels {
namespace {

/// The sizes of attention_prompt that differ between families.
struct PromptSizes {
    /// Required size of a subgroup, if the device allows it; else its smallest. Matrices of a subgroup of 64
    /// take half the registers on AMD.
    uint32_t subgroup;
    /// Elements of a head, in all blocks of a subgroup, whose queries and sums fit in registers
    /// (scripts/shader-stats).
    uint32_t elements;
};

constexpr std::array<PromptSizes, 4> prompt_sizes{{
    {32, 128}, // nvidia
    {64, 128}, // amd
    {16, 128}, // intel
    {8, 128},  // lavapipe
}};

/// Shared memory of attention_prompt.comp.
uint64_t prompt_shared_bytes(const AttentionPlan& plan, uint32_t head_dim) {
    const auto quads = [](uint32_t rows, uint32_t row_bytes) {
        return uint64_t{rows} * (row_bytes / 16 | 1);
    };
    const uint32_t rows = plan.workgroup / plan.subgroup * plan.blocks * plan.shape.rows;
    constexpr uint32_t key_bounds = 4;
    const uint64_t rest = head_dim > plan.held ? quads(rows, 2 * (head_dim - plan.held)) : 1;
    return 16 * (quads(plan.tile, 2 * head_dim) + quads(head_dim, 2 * plan.tile) +
                 quads(rows, 4 * plan.tile) + rest) +
           4 * uint64_t{rows + plan.rows_each() + key_bounds};
}

/// Whether attention_prompt.comp can run with these sizes.
bool prompt_sizes_fit(const PlanTarget& target, const AttentionPlan& plan, uint32_t head_dim) {
    const auto& [rows, columns, depth] = plan.shape;
    const uint32_t row_lanes = plan.subgroup / rows;
    return plan.workgroup <= target.profile.workgroup_invocations_max && plan.tile % columns == 0 &&
           plan.tile % depth == 0 && plan.tile % (4 * row_lanes) == 0 && plan.rows_each() > 0 &&
           prompt_shared_bytes(plan, head_dim) <= target.profile.shared_bytes;
}

/// The plan of the kernel for prompts with the most rows and keys that the device allows; empty if it has no
/// matrices, or none that divide the heads.
std::optional<AttentionPlan> prompt_plan(const PlanTarget& target, const AttentionShape& shape) {
    const vk::DeviceProfile& profile = target.profile;
    const auto& [rows, columns, depth] = profile.matrix_shape;
    const PromptSizes& sizes = prompt_sizes[static_cast<std::size_t>(target.family)];
    const bool allows =
        profile.subgroup_size_min <= sizes.subgroup && sizes.subgroup <= profile.subgroup_size_max;
    const uint32_t subgroup = allows ? sizes.subgroup : profile.subgroup_size_min;
    const uint32_t head_dim = shape.head_dim;
    constexpr uint32_t prompt_head_max = 256;
    if (rows == 0 || (subgroup != rows && subgroup != 2 * rows && subgroup != 4 * rows) ||
        head_dim % 8 != 0 || head_dim % columns != 0 || head_dim % depth != 0 || head_dim > prompt_head_max)
        return std::nullopt;
    AttentionPlan plan{.kernel = AttentionKernel::prompt,
                       .heads = shape.q_heads / shape.kv_heads,
                       .subgroup = subgroup,
                       .held = std::min(head_dim, sizes.elements),
                       .shape = profile.matrix_shape};
    for (const uint32_t subgroups : {4U, 2U}) {
        for (const uint32_t blocks : {2U, 1U}) {
            for (const uint32_t tile : {page_tokens, page_tokens / 2}) {
                plan.workgroup = subgroups * subgroup;
                plan.blocks = blocks;
                plan.tile = tile;
                const bool has_registers =
                    blocks * head_dim <= sizes.elements || (blocks == 1 && tile < page_tokens);
                if (has_registers && prompt_sizes_fit(target, plan, head_dim))
                    return plan;
            }
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<AttentionPlan> prompt_attention_plan(const PlanTarget& target, const AttentionShape& shape,
                                                   RowPath path) {
    const auto is_rounded = [](CacheFormat format) { return format != CacheFormat::f32; };
    const shaders::Variant variant = shaders::attention_prompt();
    const bool preferred =
        target.family != PlanFamily::lavapipe || target.untrusted.contains(shaders::attention());
    if (path != RowPath::prefill || shape.latent_dim > 0 || !is_rounded(shape.formats.keys) ||
        !is_rounded(shape.formats.values) || !preferred || target.untrusted.contains(variant) ||
        !kernels::usable(variant, target.profile))
        return std::nullopt;
    return prompt_plan(target, shape);
}

} // namespace etna::kernels
