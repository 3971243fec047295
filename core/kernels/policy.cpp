#include "core/kernels/policy.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::kernels {
namespace {

constexpr uint32_t lanes_subgroup = 8;
constexpr uint32_t columns_each_max = 8;
/// More columns of `tiles` need more registers than occupancy allows (scripts/shader-stats).
constexpr uint32_t tiles_columns_max = 4;
constexpr uint32_t tiles_workgroup_min = 128; ///< within the limit of every Vulkan device
constexpr uint32_t expert_workgroup_max = 256;
/// Maximum accumulators per invocation of `rows`: sixteen spill on RDNA 3 (scripts/shader-stats).
constexpr uint32_t invocation_sums_max = 8;
/// Every Vulkan device has at least 16 KiB of shared memory; queries take at most half of it.
constexpr uint32_t attention_query_floats = 2048;
constexpr uint32_t norm_invocations_max = 512; ///< of a row
/// Keys in one KV split of the general kernel's decode path: long enough that merging is cheap, short enough
/// to fill a GPU.
constexpr uint32_t gpu_split_tokens = 128;
/// A CPU does not benefit from more workgroups than cores.
constexpr uint32_t cpu_split_tokens = 2048;

/// A workgroup's outputs, and elements of a step along k, of the kernels for prompts.
constexpr uint32_t prompt_tile_rows = 64;
constexpr uint32_t prompt_tile_columns = 32;
constexpr uint32_t prompt_tile_depth = 32;
constexpr uint32_t matrix_shared_bytes = 16640; ///< rounded up from linear_matrix.comp's arrays

/// fused_linear.comp's arrays with workgroups of 512; those of 256 need less than every Vulkan device has.
constexpr uint32_t fused_shared_bytes = 21504;

uint32_t columns_for(uint32_t count) {
    for (uint32_t columns = 1; columns < columns_each_max; columns *= 2) {
        if (columns >= count)
            return columns;
    }
    return columns_each_max;
}

/// The prompt kernel serves prompts, the rows kernel generation, unless only the other one is trusted.
bool uses_prompt_kernel(const PlanTarget& target, Layout layout, RowPath path) {
    if (layout.arrangement == Arrangement::tiles)
        return path == RowPath::prefill;
    const auto format = static_cast<shaders::Format>(layout.format);
    const auto trusted = [&](shaders::Variant variant) { return !target.untrusted.contains(variant); };
    const bool rows = trusted(shaders::linear_rows(format, shaders::Reduce::shared)) ||
                      (target.profile.subgroup_arithmetic &&
                       trusted(shaders::linear_rows(format, shaders::Reduce::subgroup)));
    const bool prompt = trusted(shaders::linear_prompt(format, shaders::Arrangement::rows));
    return path == RowPath::prefill ? prompt || !rows : prompt && !rows;
}

/// Weight rows of one workgroup, by family: wider registers favour more rows, small matrices favour more
/// workgroups.
uint32_t rows_for(PlanFamily family, uint32_t rows) {
    constexpr uint32_t few_rows = 2048;
    if (rows < few_rows)
        return 1;
    return family == PlanFamily::intel ? 4 : 2;
}

/// Invocations of the decode kernel: eight loads of each cover the keys of a tile.
uint32_t decode_workgroup(uint32_t head_dim) {
    return head_dim == 256 ? 256 : 128;
}

/// Shared memory of attention_decode.comp.
uint32_t decode_shared_bytes(uint32_t heads, uint32_t head_dim) {
    const uint32_t chunks = head_dim / 8;
    const uint32_t stripes = decode_workgroup(head_dim) / chunks;
    const uint32_t scratch = std::max(decode_tile_tokens * chunks, stripes * head_dim);
    return (heads * (scratch + decode_tile_tokens + 2 * stripes) + 1) * 4;
}

/// Registers of attention_decode.comp that hold a tile, the queries and the sums.
uint32_t decode_registers(uint32_t heads, uint32_t head_dim) {
    const uint32_t tile = 2 * decode_tile_tokens * head_dim / 2 / decode_workgroup(head_dim);
    return tile + 2 * 8 * heads;
}

/// Query heads that one workgroup of the decode kernel serves: more of them read the cache less often, and
/// take more registers and shared memory. With more than 96 registers RADV of Mesa 22.3 spills on RDNA 3.
uint32_t decode_heads(const PlanTarget& target, const AttentionShape& shape) {
    const uint32_t registers = target.family == PlanFamily::nvidia ? 128 : 96;
    uint32_t heads = 4;
    while (heads > 1 && (shape.q_heads / shape.kv_heads % heads != 0 ||
                         decode_registers(heads, shape.head_dim) > registers ||
                         decode_shared_bytes(heads, shape.head_dim) > target.profile.shared_bytes))
        heads /= 2;
    return heads;
}

/// The decode kernel serves generation on GPUs, the general one everything else, unless only the other one is
/// trusted.
bool uses_decode_kernel(const PlanTarget& target, const AttentionShape& shape, RowPath path) {
    const bool common_size = shape.head_dim == 64 || shape.head_dim == 128 || shape.head_dim == 256;
    if (path != RowPath::decode || shape.formats != CacheFormats{} || !common_size ||
        decode_workgroup(shape.head_dim) > target.profile.workgroup_invocations_max)
        return false;
    const bool trusted = !target.untrusted.contains(shaders::attention_decode());
    const bool preferred = target.family != PlanFamily::lavapipe;
    return trusted && (preferred || target.untrusted.contains(shaders::attention()));
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

std::string_view to_string(Precision precision) {
    return precision == Precision::fast ? "fast" : "exact";
}

std::optional<Precision> precision_named(std::string_view name) {
    for (const auto precision : {Precision::exact, Precision::fast}) {
        if (name == to_string(precision))
            return precision;
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

namespace {

/// Whether the target runs a variant, rightly.
bool runs(const PlanTarget& target, shaders::Variant variant) {
    return kernels::usable(variant, target.profile).has_value() && !target.untrusted.contains(variant);
}

/// Whether the target can run, rightly, every kernel for matrices of this format in tiles.
bool tiles_usable(const PlanTarget& target, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    constexpr auto tiles = shaders::Arrangement::tiles;
    return format != Format::f32 && runs(target, shaders::linear_tiles(axis)) &&
           runs(target, shaders::halve()) && runs(target, shaders::linear_prompt(axis, tiles)) &&
           runs(target, shaders::embed(axis, tiles));
}

} // namespace

Arrangement exact_arrangement(const PlanTarget& target, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    // One matrix may serve as table and as weights, so that all kernels of a format are replaced together.
    const bool trusted = !target.untrusted.contains(shaders::linear_lanes(axis)) &&
                         !target.untrusted.contains(shaders::expert_lanes(axis)) &&
                         !target.untrusted.contains(shaders::embed(axis, shaders::Arrangement::lanes));
    const bool lanes = target.family == PlanFamily::lavapipe && lanes_usable(target.profile) && trusted;
    return lanes ? Arrangement::lanes : Arrangement::rows;
}

bool reads_halves(const PlanTarget& target, uint32_t columns) {
    return target.family != PlanFamily::lavapipe && columns % tile_columns == 0 &&
           usable(shaders::linear_tiles(shaders::Format::f16), target.profile).has_value();
}

Arrangement matrix_arrangement(const PlanTarget& target, Format format, uint32_t columns) {
    return reads_halves(target, columns) && tiles_usable(target, format) ? Arrangement::tiles
                                                                         : exact_arrangement(target, format);
}

Arrangement stack_arrangement(const PlanTarget& target, Format format, uint32_t columns) {
    const auto axis = static_cast<shaders::Format>(format);
    const bool tiles = reads_halves(target, columns) && format != Format::f32 &&
                       runs(target, shaders::expert_tiles(axis)) && runs(target, shaders::expert_down(axis));
    return tiles ? Arrangement::tiles : exact_arrangement(target, format);
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

namespace {

/// The plan of a kernel for dispatches of few rows: with more invocations for more columns.
ReducePlan wide_plan(const PlanTarget& target, shaders::Variant subgroup, uint32_t columns, uint32_t most) {
    ReducePlan plan = reduce_plan(target, subgroup);
    if (target.family == PlanFamily::lavapipe)
        return plan;
    constexpr uint32_t invocation_elements = 8; // two loads each
    most = std::min(target.profile.workgroup_invocations_max, most);
    while (plan.workgroup * invocation_elements < columns && plan.workgroup * 2 <= most)
        plan.workgroup *= 2;
    return plan;
}

} // namespace

ReducePlan norm_plan(const PlanTarget& target, uint32_t columns) {
    return wide_plan(target, shaders::rms_norm(shaders::Reduce::subgroup), columns, norm_invocations_max);
}

ReducePlan expert_router_plan(const PlanTarget& target, uint32_t columns) {
    return wide_plan(target, shaders::expert_router(shaders::Reduce::subgroup), columns,
                     expert_workgroup_max);
}

/// Whether the device supports a cooperative matrix shape that divides a tile. F32 weights are not rounded.
bool matrix_usable(const PlanTarget& target, Layout layout) {
    const vk::DeviceProfile& profile = target.profile;
    const vk::MatrixShape& shape = profile.matrix_shape;
    const shaders::Variant variant = shaders::linear_matrix(
        static_cast<shaders::Format>(layout.format), static_cast<shaders::Arrangement>(layout.arrangement));
    return shape.rows > 0 && prompt_tile_rows % shape.rows == 0 && prompt_tile_columns % shape.columns == 0 &&
           prompt_tile_depth % shape.depth == 0 && profile.shared_bytes >= matrix_shared_bytes &&
           usable(variant, profile).has_value() && !target.untrusted.contains(variant);
}

LinearPlan matrix_plan(const vk::DeviceProfile& profile) {
    return {.kernel = LinearKernel::matrix,
            .reduce = {},
            .shape = profile.matrix_shape,
            .workgroup = matrix_subgroups * profile.subgroup_size_max,
            .rows_each = prompt_tile_rows,
            .columns_each = prompt_tile_columns};
}

/// Whether the target has accelerated integer dot products, or is a CPU, on which tests run the kernels for
/// GPUs.
bool dots_usable(const PlanTarget& target) {
    return target.profile.integer_dot_accelerated || target.profile.type == vk::DeviceType::cpu;
}

/// Whether a kernel that reads codes is preferred to the one that reads halves.
bool reads_codes(const PlanTarget& target, shaders::Variant variant) {
    return target.precision == Precision::fast && dots_usable(target) &&
           usable(variant, target.profile).has_value() && !target.untrusted.contains(variant);
}

/// Measured on an H100: a slice takes a quarter of a tile, and as many slices share a row as it has quarters,
/// up to 64, or 32 where so many rows fill the device. Two groups of rows share the loads of one input.
LinearPlan tiles_plan(const PlanTarget& target, Format format, uint32_t rows, uint32_t columns,
                      uint32_t count) {
    constexpr uint32_t many_rows = 8192;
    const uint32_t quarters = columns / tile_columns * tile_parts;
    const uint32_t most = std::min(target.profile.workgroup_invocations_max, rows < many_rows ? 512U : 256U);
    LinearPlan plan{.kernel = LinearKernel::tiles, .reduce = {}, .shape = {}};
    plan.parts = tile_parts;
    plan.workgroup = tiles_workgroup_min;
    while (plan.workgroup < quarters * repack_rows && plan.workgroup * 2 <= most)
        plan.workgroup *= 2;
    plan.columns_each = std::min(columns_for(count), tiles_columns_max);
    plan.rows_each = plan.columns_each == 1 && plan.workgroup >= 256 && rows >= 4096 ? 2 : 1;
    plan.reads_codes = reads_codes(target, shaders::linear_codes(static_cast<shaders::Format>(format)));
    return plan;
}

uint32_t expert_tiles_workgroup(const PlanTarget& target, uint32_t tiles) {
    const uint32_t most = std::min(target.profile.workgroup_invocations_max, expert_workgroup_max);
    uint32_t workgroup = tiles_workgroup_min;
    while (workgroup < tiles * tile_parts * repack_rows && workgroup * 2 <= most)
        workgroup *= 2;
    return workgroup;
}

/// No larger than that every slice has as many parts of tiles.
uint32_t expert_down_workgroup(const PlanTarget& target, uint32_t tiles) {
    const uint32_t most = std::min(target.profile.workgroup_invocations_max, expert_workgroup_max);
    uint32_t workgroup = tiles_workgroup_min;
    while (tiles * tile_parts * repack_rows % (workgroup * 2) == 0 && workgroup * 2 <= most)
        workgroup *= 2;
    return workgroup;
}

/// A workgroup of a gated pair has a group of rows of each matrix. Larger workgroups, or more columns of
/// formats whose weights are loaded whole, leave too few registers for that (scripts/shader-stats).
FusedLinearPlan fused_linear_plan(const PlanTarget& target, Format format, uint32_t rows, uint32_t columns,
                                  uint32_t count, bool is_gated) {
    constexpr uint32_t gated_workgroup_max = 256;
    constexpr uint32_t plain_columns_max = 2;
    FusedLinearPlan plan{.tiles = tiles_plan(target, format, rows, columns, count)};
    if (target.profile.shared_bytes < fused_shared_bytes)
        plan.tiles.workgroup = std::min(plan.tiles.workgroup, 256U);
    plan.tiles.reads_codes = reads_codes(target, shaders::fused_codes(static_cast<shaders::Format>(format)));
    if (is_gated) {
        plan.tiles.rows_each = 2;
        plan.tiles.workgroup = std::min(plan.tiles.workgroup, gated_workgroup_max);
        if (block_columns(format) == 1)
            plan.tiles.columns_each = std::min(plan.tiles.columns_each, plain_columns_max);
    }
    plan.output_rows = plan.tiles.rows_each / (is_gated ? 2 : 1) * repack_rows;
    return plan;
}

LinearPlan heads_linear_plan(const PlanTarget& target, Format format, uint32_t rows, uint32_t columns,
                             uint32_t count, uint32_t head_dim) {
    LinearPlan plan = tiles_plan(target, format, rows, columns, count);
    plan.reads_codes = reads_codes(target, shaders::heads_codes(static_cast<shaders::Format>(format)));
    while (plan.rows_each > 1 && head_dim % (plan.rows_each * repack_rows) != 0)
        plan.rows_each /= 2;
    return plan;
}

Result<LinearPlan> linear_plan(const PlanTarget& target, Layout layout, uint32_t rows, uint32_t columns,
                               RowPath path, uint32_t count, OperandPrecision factors) {
    if (layout.arrangement == Arrangement::lanes) {
        if (!lanes_usable(target.profile)) {
            return Error{
                ErrorKind::unsupported,
                fmt::format("{} cannot run kernels for weights in lanes arrangement", target.profile.name)};
        }
        const uint32_t columns_each = columns_for(count);
        return LinearPlan{.kernel = LinearKernel::lanes,
                          .reduce = {},
                          .shape = {},
                          .rows_each = columns_each > 2 ? 2U : 4U, // sums of a lane stay within the registers
                          .columns_each = columns_each};
    }
    const auto axis = static_cast<shaders::Format>(layout.format);
    const bool may_round = path == RowPath::prefill && factors == OperandPrecision::f16_allowed;
    if (may_round && matrix_usable(target, layout))
        return matrix_plan(target.profile);
    if (uses_prompt_kernel(target, layout, path)) {
        return LinearPlan{.kernel = LinearKernel::prompt,
                          .reduce = {},
                          .shape = {},
                          .rows_each = prompt_tile_rows,
                          .columns_each = prompt_tile_columns};
    }
    if (layout.arrangement == Arrangement::tiles)
        return tiles_plan(target, layout.format, rows, columns, count);
    ReducePlan reduce = reduce_plan(target, shaders::linear_rows(axis, shaders::Reduce::subgroup));
    if (target.family == PlanFamily::intel && reduce.one_subgroup == 0)
        reduce.workgroup = 32;
    const uint32_t columns_each = columns_for(count);
    return LinearPlan{.kernel = LinearKernel::rows,
                      .reduce = reduce,
                      .shape = {},
                      .rows_each =
                          std::min(rows_for(target.family, rows), invocation_sums_max / columns_each),
                      .columns_each = columns_each};
}

shaders::Variant linear_variant(const LinearPlan& plan, Layout layout) {
    const auto axis = static_cast<shaders::Format>(layout.format);
    const auto arrangement = static_cast<shaders::Arrangement>(layout.arrangement);
    switch (plan.kernel) {
    case LinearKernel::rows:
        return shaders::linear_rows(axis, plan.reduce.reduce);
    case LinearKernel::prompt:
        return shaders::linear_prompt(axis, arrangement);
    case LinearKernel::matrix:
        return shaders::linear_matrix(axis, arrangement);
    case LinearKernel::tiles:
        return plan.reads_codes ? shaders::linear_codes(axis) : shaders::linear_tiles(axis);
    case LinearKernel::lanes:
        break;
    }
    return shaders::linear_lanes(axis);
}

shaders::Variant heads_linear_variant(const LinearPlan& plan, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    return plan.reads_codes ? shaders::heads_codes(axis) : shaders::heads_linear(axis);
}

shaders::Variant fused_linear_variant(const FusedLinearPlan& plan, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    return plan.tiles.reads_codes ? shaders::fused_codes(axis) : shaders::fused_linear(axis);
}

uint32_t written_blocks(const PlanTarget& target) {
    // Whichever kernels are trusted: another may read codes.
    const bool with_codes = target.precision == Precision::fast && dots_usable(target) &&
                            usable(shaders::linear_codes(shaders::Format::q8_0), target.profile).has_value();
    return with_codes ? 2 : 1;
}

AttentionPlan attention_plan(const PlanTarget& target, const AttentionShape& shape, RowPath path) {
    if (uses_decode_kernel(target, shape, path)) {
        return {.kernel = AttentionKernel::decode,
                .workgroup = decode_workgroup(shape.head_dim),
                .heads = decode_heads(target, shape)};
    }
    const uint32_t group = shape.q_heads / shape.kv_heads;
    const auto stride = static_cast<uint32_t>(round_up(shape.head_dim, 8));
    uint32_t heads = std::clamp(attention_query_floats / stride, 1U, group);
    while (group % heads != 0)
        --heads;
    return {.kernel = AttentionKernel::general,
            .workgroup = target.family == PlanFamily::lavapipe ? 32U : 64U,
            .heads = heads};
}

shaders::Variant attention_variant(const AttentionPlan& plan) {
    return plan.kernel == AttentionKernel::decode ? shaders::attention_decode() : shaders::attention();
}

uint32_t kv_split_tokens(const PlanTarget& target) {
    return target.family == PlanFamily::lavapipe ? cpu_split_tokens : gpu_split_tokens;
}

} // namespace etna::kernels
