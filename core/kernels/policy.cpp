#include "core/kernels/policy.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::kernels {
namespace {

constexpr uint32_t lanes_subgroup = 8;
constexpr uint32_t columns_each_max = 8;
/// A shared-memory bound that every Vulkan device keeps is 16 KiB; queries take at most half of it.
constexpr uint32_t attention_query_floats = 2048;
/// Keys in one run of the generation path: long enough that merging is cheap, short enough to fill a GPU.
constexpr uint32_t gpu_run_tokens = 512;
/// A CPU gains nothing from more workgroups than cores.
constexpr uint32_t cpu_run_tokens = 2048;

uint32_t columns_for(uint32_t count) {
    for (uint32_t columns = 1; columns < columns_each_max; columns *= 2) {
        if (columns >= count)
            return columns;
    }
    return columns_each_max;
}

/// Prompts are for the tile kernel, generation for the rows kernel, unless only the other one is trusted.
bool uses_tile(const PlanTarget& target, shaders::Format format, RowPath path) {
    const auto trusted = [&](shaders::Variant variant) { return !target.untrusted.contains(variant); };
    const bool rows = trusted(shaders::linear_rows(format, shaders::Reduce::shared)) ||
                      (target.profile.subgroup_arithmetic &&
                       trusted(shaders::linear_rows(format, shaders::Reduce::subgroup)));
    const bool tile = trusted(shaders::linear_tile(format));
    return path == RowPath::prompt ? tile || !rows : tile && !rows;
}

/// Weight rows of one workgroup, by family: wider registers want more rows, small matrices want more
/// workgroups.
uint32_t rows_for(PlanFamily family, uint32_t rows) {
    constexpr uint32_t few_rows = 2048;
    if (rows < few_rows)
        return 1;
    return family == PlanFamily::intel ? 4 : 2;
}

} // namespace

std::string_view to_string(PlanFamily family) {
    switch (family) {
    case PlanFamily::nvidia:
        return "nvidia";
    case PlanFamily::amd:
        return "amd";
    case PlanFamily::intel:
        return "intel";
    case PlanFamily::lavapipe:
        return "lavapipe";
    }
    return "unknown";
}

std::optional<PlanFamily> plan_family_named(std::string_view name) {
    for (const auto family : {PlanFamily::nvidia, PlanFamily::amd, PlanFamily::intel, PlanFamily::lavapipe}) {
        if (name == to_string(family))
            return family;
    }
    return std::nullopt;
}

PlanFamily natural_family(const vk::DeviceProfile& profile) {
    if (profile.type == vk::DeviceType::cpu && lanes_usable(profile))
        return PlanFamily::lavapipe;
    switch (profile.vendor) {
    case vk::Vendor::amd:
        return PlanFamily::amd;
    case vk::Vendor::intel:
        return PlanFamily::intel;
    default:
        return PlanFamily::nvidia;
    }
}

bool lanes_usable(const vk::DeviceProfile& profile) {
    return profile.subgroup_arithmetic && profile.subgroup_size >= lanes_subgroup &&
           profile.subgroup_size_min >= lanes_subgroup;
}

Arrangement preferred_arrangement(const PlanTarget& target, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    // One matrix may serve as table and as weights, so that all of a format step aside together.
    const bool trusted = !target.untrusted.contains(shaders::linear_lanes(axis)) &&
                         !target.untrusted.contains(shaders::expert_lanes(axis)) &&
                         !target.untrusted.contains(shaders::embed(axis, shaders::Arrangement::lanes));
    const bool lanes = target.family == PlanFamily::lavapipe && lanes_usable(target.profile) && trusted;
    return lanes ? Arrangement::lanes : Arrangement::rows;
}

ReducePlan reduce_plan(const PlanTarget& target, shaders::Variant subgroup) {
    if (!target.profile.subgroup_arithmetic || target.untrusted.contains(subgroup))
        return {.reduce = shaders::Reduce::shared, .workgroup = 64, .one_subgroup = 0};
    const vk::DeviceProfile& profile = target.profile;
    const bool fixed = profile.subgroup_size_min == profile.subgroup_size_max;
    if (target.family == PlanFamily::lavapipe && fixed)
        return {.reduce = shaders::Reduce::subgroup, .workgroup = profile.subgroup_size, .one_subgroup = 1};
    return {.reduce = shaders::Reduce::subgroup, .workgroup = 64, .one_subgroup = 0};
}

Result<LinearPlan> linear_plan(const PlanTarget& target, Layout layout, uint32_t rows, RowPath path,
                               uint32_t count) {
    if (layout.arrangement == Arrangement::lanes) {
        if (!lanes_usable(target.profile)) {
            return Error{
                ErrorKind::unsupported,
                fmt::format("{} cannot run kernels for weights in lanes arrangement", target.profile.name)};
        }
        const uint32_t columns = columns_for(count);
        return LinearPlan{.kernel = LinearKernel::lanes,
                          .reduce = {},
                          .rows_each = columns > 2 ? 2U : 4U, // sums of a lane stay within the registers
                          .columns_each = columns};
    }
    const auto axis = static_cast<shaders::Format>(layout.format);
    if (uses_tile(target, axis, path))
        return LinearPlan{.kernel = LinearKernel::tile, .reduce = {}, .rows_each = 64, .columns_each = 32};
    ReducePlan reduce = reduce_plan(target, shaders::linear_rows(axis, shaders::Reduce::subgroup));
    if (target.family == PlanFamily::intel && reduce.one_subgroup == 0)
        reduce.workgroup = 32;
    return LinearPlan{.kernel = LinearKernel::rows,
                      .reduce = reduce,
                      .rows_each = rows_for(target.family, rows),
                      .columns_each = columns_for(count)};
}

shaders::Variant linear_variant(const LinearPlan& plan, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    switch (plan.kernel) {
    case LinearKernel::rows:
        return shaders::linear_rows(axis, plan.reduce.reduce);
    case LinearKernel::tile:
        return shaders::linear_tile(axis);
    case LinearKernel::lanes:
        break;
    }
    return shaders::linear_lanes(axis);
}

AttentionPlan attention_plan(const PlanTarget& target, uint32_t q_heads, uint32_t kv_heads,
                             uint32_t head_dim) {
    const uint32_t group = q_heads / kv_heads;
    const auto stride = static_cast<uint32_t>(round_up(head_dim, 8));
    uint32_t heads = std::clamp(attention_query_floats / stride, 1U, group);
    while (group % heads != 0)
        --heads;
    return {.workgroup = target.family == PlanFamily::lavapipe ? 32U : 64U, .heads = heads};
}

uint32_t attention_run_tokens(const PlanTarget& target) {
    return target.family == PlanFamily::lavapipe ? cpu_run_tokens : gpu_run_tokens;
}

} // namespace etna::kernels
