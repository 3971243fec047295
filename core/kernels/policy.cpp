#include "core/kernels/policy.hpp"

#include "core/kernels/matrix_plans.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

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
constexpr uint32_t latent_heads_max = 8;       ///< of attention over a latent, of one workgroup
constexpr uint32_t norm_invocations_max = 512; ///< of a row

/// The sizes that differ between families, where they were measured or where a family's hardware gives a
/// reason. All others follow from the shape alone. `etna tune` measures them on a device
/// (tuning_candidates()).
struct FamilySizes {
    /// Required size of a subgroup of the kernels for decode rows, if the device allows a choice; 0: the
    /// driver's. Intel's drivers choose 8, 16 or 32 for each shader, and 16 fills the registers of Xe2.
    /// NVIDIA has 32 alone; AMD's drivers choose 32 or 64 by generation.
    uint32_t subgroup;
    uint32_t rows_workgroup; ///< invocations of linear_rows, unless it is one subgroup
    uint32_t rows_each; ///< weight rows of a workgroup of linear_rows: wider registers favour more of them
    uint32_t attention_workgroup; ///< of the general kernel
    /// Registers that attention_decode may take for tile, queries and sums: with more than 96, RADV of Mesa
    /// 22.3 spills on RDNA 3.
    uint32_t attention_registers;
    /// Keys in one KV split of the general attention kernel's decode path: long enough that merging is cheap,
    /// short enough to fill a GPU. A CPU does not benefit from more workgroups than cores.
    uint32_t kv_split_tokens;
};

// subgroup, rows_workgroup, rows_each, attention_workgroup, attention_registers, kv_split_tokens
constexpr std::array<FamilySizes, 4> family_sizes{{
    {0, 64, 2, 64, 128, 128}, // nvidia
    {0, 64, 2, 64, 96, 128},  // amd
    {16, 32, 4, 64, 96, 128}, // intel
    {0, 64, 2, 32, 96, 2048}, // lavapipe
}};

const FamilySizes& sizes_of(PlanFamily family) {
    return family_sizes[static_cast<std::size_t>(family)];
}

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

/// Weight rows of one workgroup of linear_rows: small matrices favour more workgroups.
uint32_t rows_for(PlanFamily family, uint32_t rows) {
    constexpr uint32_t few_rows = 2048;
    return rows < few_rows ? 1 : sizes_of(family).rows_each;
}

/// The family's subgroup, if the device allows it.
uint32_t required_subgroup(const PlanTarget& target) {
    const vk::DeviceProfile& profile = target.profile;
    const uint32_t size = sizes_of(target.family).subgroup;
    const bool is_choice = profile.subgroup_size_control && profile.subgroup_size_min <= size &&
                           size <= profile.subgroup_size_max;
    return is_choice ? size : 0;
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

/// Whether a workgroup of the decode kernel can serve `heads` query heads.
bool decode_heads_fit(const PlanTarget& target, const AttentionShape& shape, uint32_t heads) {
    return shape.q_heads / shape.kv_heads % heads == 0 &&
           decode_registers(heads, shape.head_dim) <= sizes_of(target.family).attention_registers &&
           decode_shared_bytes(heads, shape.head_dim) <= target.profile.shared_bytes;
}

/// Query heads that one workgroup of the decode kernel serves: more of them read the cache less often, and
/// take more registers and shared memory.
uint32_t decode_heads(const PlanTarget& target, const AttentionShape& shape) {
    uint32_t heads = 4;
    while (heads > 1 && !decode_heads_fit(target, shape, heads))
        heads /= 2;
    return heads;
}

/// Query heads that one workgroup of the general kernel serves.
uint32_t general_heads(const AttentionShape& shape) {
    const uint32_t group = shape.q_heads / shape.kv_heads;
    const auto stride = static_cast<uint32_t>(round_up(shape.head_dim, 8));
    uint32_t heads = std::clamp(attention_query_floats / stride, 1U, group);
    while (group % heads != 0)
        --heads;
    return heads;
}

/// Of the general kernel over a latent, whose heads are wide: many queries share the loads of a key, in as
/// many pairs of sums as one invocation can hold in registers.
WorkgroupSizes latent_sizes(const PlanTarget& target, const AttentionShape& shape) {
    constexpr uint32_t own_pairs_max = 16;
    constexpr uint32_t gpu_workgroup = 128;
    const uint32_t workgroup =
        target.family == PlanFamily::lavapipe ? sizes_of(target.family).attention_workgroup : gpu_workgroup;
    const uint64_t head_bytes = 4 * (round_up(shape.head_dim, 8) + page_tokens + 3);
    const auto head_pairs = static_cast<uint32_t>(round_up(shape.value_dim(), 8) / 2);
    const uint32_t group = shape.q_heads / shape.kv_heads;
    uint32_t heads =
        std::clamp(own_pairs_max * workgroup / head_pairs, 1U, std::min(group, latent_heads_max));
    while (group % heads != 0 || (heads > 1 && heads * head_bytes > target.profile.shared_bytes))
        --heads;
    return {.workgroup = workgroup, .rows = heads};
}

/// The decode kernel serves generation on GPUs, the general one everything else, unless only the other one is
/// trusted.
bool uses_decode_kernel(const PlanTarget& target, const AttentionShape& shape, RowPath path) {
    const bool common_size = shape.head_dim == 64 || shape.head_dim == 128 || shape.head_dim == 256;
    if (path != RowPath::decode || shape.formats != CacheFormats{} || !common_size || shape.latent_dim > 0 ||
        shape.has_alibi || decode_workgroup(shape.head_dim) > target.profile.workgroup_invocations_max)
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

/// Whether the target can run, rightly, every kernel for matrices of this format in tiles.
bool tiles_usable(const PlanTarget& target, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    constexpr auto tiles = shaders::Arrangement::tiles;
    return format != Format::f32 && runs(target, shaders::linear_tiles(axis)) &&
           runs(target, shaders::pack()) && runs(target, shaders::linear_prompt(axis, tiles)) &&
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

bool reads_packed(const PlanTarget& target, uint32_t columns) {
    return target.family != PlanFamily::lavapipe && columns % tile_columns == 0 &&
           usable(shaders::linear_tiles(shaders::Format::f16), target.profile).has_value();
}

ReadForms read_forms(const PlanTarget& target, uint32_t columns) {
    const bool blocks = reads_packed(target, columns);
    return {.blocks = blocks, .f16 = blocks && prompts_read_packed(target)};
}

Arrangement matrix_arrangement(const PlanTarget& target, Format format, uint32_t columns) {
    return reads_packed(target, columns) && tiles_usable(target, format) ? Arrangement::tiles
                                                                         : exact_arrangement(target, format);
}

Arrangement stack_arrangement(const PlanTarget& target, Format format, uint32_t columns) {
    const auto axis = static_cast<shaders::Format>(format);
    const bool tiles = reads_packed(target, columns) && format != Format::f32 &&
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

namespace {

/// Whether the target has accelerated integer dot products, or is a CPU, on which tests run the kernels for
/// GPUs.
bool dots_usable(const PlanTarget& target) {
    return target.profile.integer_dot_accelerated || target.profile.type == vk::DeviceType::cpu;
}

/// Those of inputs' codes if a kernel that reads them is preferred to the one that reads f16; else 0.
uint32_t code_bytes_of(const PlanTarget& target, shaders::Variant variant) {
    return dots_usable(target) && runs(target, variant) ? code_bytes_at(target.precision) : 0;
}

/// The largest workgroup of a kernel for matrices in tiles. Larger ones of a gated pair leave too few
/// registers (scripts/shader-stats).
uint32_t tiles_workgroup_max(const PlanTarget& target, TunedKernel kernel) {
    constexpr uint32_t gated_workgroup_max = 256;
    const uint32_t most = std::min(target.profile.workgroup_invocations_max, 512U);
    if (kernel == TunedKernel::gated_linear)
        return std::min(most, gated_workgroup_max);
    const bool is_fused = kernel == TunedKernel::fused_linear;
    return is_fused && target.profile.shared_bytes < fused_shared_bytes ? std::min(most, 256U) : most;
}

/// Measured on an H100: a slice takes a quarter of a tile, and as many slices share a row as it has quarters,
/// up to 64, or 32 where so many rows fill the device. Two groups of rows share the loads of one input. A
/// workgroup of a gated pair has a group of rows of each matrix.
WorkgroupSizes tiles_sizes(const PlanTarget& target, const TunedShape& shape) {
    constexpr uint32_t many_rows = 8192;
    const uint32_t quarters = shape.columns / tile_columns * tile_parts;
    const uint32_t most =
        std::min(tiles_workgroup_max(target, shape.kernel), shape.rows < many_rows ? 512U : 256U);
    WorkgroupSizes sizes{.workgroup = tiles_workgroup_min, .subgroup = required_subgroup(target)};
    while (sizes.workgroup < quarters * repack_rows && sizes.workgroup * 2 <= most)
        sizes.workgroup *= 2;
    const bool shares_loads = sizes.workgroup >= 256 && shape.rows >= 4096;
    sizes.rows = shape.kernel == TunedKernel::gated_linear || shares_loads ? 2 : 1;
    return sizes;
}

WorkgroupSizes rows_sizes(const PlanTarget& target, const ReducePlan& reduce, uint32_t rows) {
    return {.workgroup = reduce.one_subgroup == 1 ? reduce.workgroup : sizes_of(target.family).rows_workgroup,
            .rows = rows_for(target.family, rows),
            .subgroup = reduce.one_subgroup == 1 ? 0 : required_subgroup(target)};
}

ReducePlan linear_reduce(const PlanTarget& target, Format format) {
    return reduce_plan(target,
                       shaders::linear_rows(static_cast<shaders::Format>(format), shaders::Reduce::subgroup));
}

constexpr WorkgroupSizes lanes_sizes{.rows = 4};

WorkgroupSizes policy_sizes(const PlanTarget& target, const TunedShape& shape) {
    const AttentionShape heads{.q_heads = shape.rows, .kv_heads = shape.kv_heads, .head_dim = shape.columns};
    switch (shape.kernel) {
    case TunedKernel::attention:
        return {.workgroup = sizes_of(target.family).attention_workgroup, .rows = general_heads(heads)};
    case TunedKernel::attention_decode:
        return {.workgroup = decode_workgroup(heads.head_dim), .rows = decode_heads(target, heads)};
    default:
        break;
    }
    switch (shape.layout.arrangement) {
    case Arrangement::lanes:
        return lanes_sizes;
    case Arrangement::rows:
        return rows_sizes(target, linear_reduce(target, shape.layout.format), shape.rows);
    case Arrangement::tiles:
        break;
    }
    return tiles_sizes(target, shape);
}

WorkgroupSizes sizes_for(const PlanTarget& target, const TunedShape& shape) {
    const auto tuned = target.tuning.find(shape);
    return tuned ? *tuned : policy_sizes(target, shape);
}

LinearPlan tiles_plan(const PlanTarget& target, const TunedShape& shape, const WorkgroupSizes& sizes,
                      uint32_t count) {
    LinearPlan plan{.kernel = LinearKernel::tiles, .reduce = {}, .shape = {}};
    plan.parts = tile_parts;
    plan.workgroup = sizes.workgroup;
    plan.subgroup = sizes.subgroup;
    plan.columns_each = std::min(columns_for(count), tiles_columns_max);
    plan.rows_each = plan.columns_each == 1 || shape.kernel == TunedKernel::gated_linear ? sizes.rows : 1;
    plan.code_bytes =
        code_bytes_of(target, shaders::linear_codes(static_cast<shaders::Format>(shape.layout.format)));
    return plan;
}

} // namespace

uint32_t expert_tiles_workgroup(const PlanTarget& target, uint32_t tiles) {
    const uint32_t most = std::min(target.profile.workgroup_invocations_max, expert_workgroup_max);
    uint32_t workgroup = tiles_workgroup_min;
    while (workgroup < tiles * tile_parts * repack_rows && workgroup * 2 <= most)
        workgroup *= 2;
    return workgroup;
}

ExpertTilesPlan expert_tiles_plan(const PlanTarget& target, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    const uint32_t code_bytes = code_bytes_of(target, shaders::expert_codes(axis));
    return {code_bytes > 0 ? shaders::expert_codes(axis) : shaders::expert_tiles(axis), code_bytes};
}

ExpertTilesPlan expert_down_plan(const PlanTarget& target, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    const uint32_t code_bytes = code_bytes_of(target, shaders::expert_down_codes(axis));
    return {code_bytes > 0 ? shaders::expert_down_codes(axis) : shaders::expert_down(axis), code_bytes};
}

/// No larger than that every slice has as many parts of tiles.
uint32_t expert_down_workgroup(const PlanTarget& target, uint32_t tiles) {
    const uint32_t most = std::min(target.profile.workgroup_invocations_max, expert_workgroup_max);
    uint32_t workgroup = tiles_workgroup_min;
    while (tiles * tile_parts * repack_rows % (workgroup * 2) == 0 && workgroup * 2 <= most)
        workgroup *= 2;
    return workgroup;
}

/// More columns of formats whose weights are loaded whole leave a gated pair too few registers
/// (scripts/shader-stats).
FusedLinearPlan fused_linear_plan(const PlanTarget& target, Format format, uint32_t rows, uint32_t columns,
                                  uint32_t count, bool is_gated) {
    constexpr uint32_t plain_columns_max = 2;
    const TunedShape shape{.kernel = is_gated ? TunedKernel::gated_linear : TunedKernel::fused_linear,
                           .layout = {.format = format, .arrangement = Arrangement::tiles},
                           .rows = rows,
                           .columns = columns};
    FusedLinearPlan plan{.tiles = tiles_plan(target, shape, sizes_for(target, shape), count)};
    plan.tiles.code_bytes = code_bytes_of(target, shaders::fused_codes(static_cast<shaders::Format>(format)));
    if (is_gated && block_columns(format) == 1)
        plan.tiles.columns_each = std::min(plan.tiles.columns_each, plain_columns_max);
    plan.output_rows = plan.tiles.rows_each / (is_gated ? 2 : 1) * repack_rows;
    return plan;
}

LinearPlan heads_linear_plan(const PlanTarget& target, Format format, uint32_t rows, uint32_t columns,
                             uint32_t count, uint32_t head_dim) {
    const TunedShape shape{.kernel = TunedKernel::linear,
                           .layout = {.format = format, .arrangement = Arrangement::tiles},
                           .rows = rows,
                           .columns = columns};
    LinearPlan plan = tiles_plan(target, shape, policy_sizes(target, shape), count); // not tuned
    plan.code_bytes = code_bytes_of(target, shaders::heads_codes(static_cast<shaders::Format>(format)));
    while (plan.rows_each > 1 && head_dim % (plan.rows_each * repack_rows) != 0)
        plan.rows_each /= 2;
    return plan;
}

Result<LinearPlan> linear_plan(const PlanTarget& target, Layout layout, uint32_t rows, uint32_t columns,
                               RowPath path, uint32_t count, OperandPrecision factors) {
    const TunedShape shape{.kernel = TunedKernel::linear, .layout = layout, .rows = rows, .columns = columns};
    if (layout.arrangement == Arrangement::lanes) {
        if (!lanes_usable(target.profile)) {
            return Error{
                ErrorKind::unsupported,
                fmt::format("{} cannot run kernels for weights in lanes arrangement", target.profile.name)};
        }
        // Tuned for one column. With more, a broadcast element of x serves as many rows as possible: measured
        // on three releases of Mesa, prompts are 1.2 to 1.7 times as fast with four groups as with two.
        const uint32_t columns_each = columns_for(count);
        return LinearPlan{.kernel = LinearKernel::lanes,
                          .reduce = {},
                          .shape = {},
                          .rows_each = columns_each > 2 ? lanes_sizes.rows : sizes_for(target, shape).rows,
                          .columns_each = columns_each};
    }
    if (path == RowPath::prefill && factors == OperandPrecision::f16_allowed) {
        const std::optional<LinearPlan> plan =
            layout.arrangement == Arrangement::tiles
                ? matrix_tiles_plan(target, layout.format, rows, columns, count)
                : matrix_plan(target, layout.format);
        if (plan)
            return *plan;
    }
    if (uses_prompt_kernel(target, layout, path)) {
        return LinearPlan{.kernel = LinearKernel::prompt,
                          .reduce = {},
                          .shape = {},
                          .rows_each = prompt_tile_rows,
                          .columns_each = prompt_tile_columns};
    }
    if (layout.arrangement == Arrangement::tiles)
        return tiles_plan(target, shape, sizes_for(target, shape), count);
    const WorkgroupSizes sizes = sizes_for(target, shape);
    ReducePlan reduce = linear_reduce(target, layout.format);
    reduce.workgroup = sizes.workgroup;
    const uint32_t columns_each = columns_for(count);
    return LinearPlan{.kernel = LinearKernel::rows,
                      .reduce = reduce,
                      .shape = {},
                      .rows_each = std::min(sizes.rows, invocation_sums_max / columns_each),
                      .columns_each = columns_each,
                      .subgroup = sizes.subgroup};
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
        return shaders::linear_matrix(axis);
    case LinearKernel::matrix_tiles:
        return shaders::matrix_tiles(axis);
    case LinearKernel::tiles:
        return plan.code_bytes > 0 ? shaders::linear_codes(axis) : shaders::linear_tiles(axis);
    case LinearKernel::lanes:
        break;
    }
    return shaders::linear_lanes(axis);
}

shaders::Variant heads_linear_variant(const LinearPlan& plan, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    return plan.code_bytes > 0 ? shaders::heads_codes(axis) : shaders::heads_linear(axis);
}

shaders::Variant fused_linear_variant(const FusedLinearPlan& plan, Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    return plan.tiles.code_bytes > 0 ? shaders::fused_codes(axis) : shaders::fused_linear(axis);
}

uint32_t code_bytes_at(Precision precision) {
    return precision == Precision::fast ? 1 : 2;
}

uint32_t written_blocks(const PlanTarget& target) {
    // Whichever kernels are trusted: another may read codes.
    const bool with_codes = dots_usable(target) &&
                            usable(shaders::linear_codes(shaders::Format::q8_0), target.profile).has_value();
    return with_codes ? 2 : 1;
}

AttentionPlan attention_plan(const PlanTarget& target, const AttentionShape& shape, RowPath path) {
    if (shape.latent_dim > 0) {
        const WorkgroupSizes sizes = latent_sizes(target, shape);
        return {.kernel = AttentionKernel::general, .workgroup = sizes.workgroup, .heads = sizes.rows};
    }
    if (const auto prompt = prompt_attention_plan(target, shape, path); prompt && !shape.has_alibi)
        return *prompt;
    const bool is_decode = uses_decode_kernel(target, shape, path);
    const WorkgroupSizes sizes =
        sizes_for(target, {.kernel = is_decode ? TunedKernel::attention_decode : TunedKernel::attention,
                           .rows = shape.q_heads,
                           .columns = shape.head_dim,
                           .kv_heads = shape.kv_heads});
    return {.kernel = is_decode ? AttentionKernel::decode : AttentionKernel::general,
            .workgroup = sizes.workgroup,
            .heads = sizes.rows};
}

shaders::Variant attention_variant(const AttentionPlan& plan) {
    switch (plan.kernel) {
    case AttentionKernel::decode:
        return shaders::attention_decode();
    case AttentionKernel::prompt:
        return shaders::attention_prompt();
    case AttentionKernel::general:
        break;
    }
    return shaders::attention();
}

uint32_t kv_split_tokens(const PlanTarget& target) {
    return sizes_of(target.family).kv_split_tokens;
}

namespace {

/// Subgroups that candidates may require, the policy's first.
std::vector<uint32_t> subgroup_candidates(const PlanTarget& target, uint32_t policy) {
    const vk::DeviceProfile& profile = target.profile;
    std::vector<uint32_t> sizes{policy};
    if (!profile.subgroup_size_control || profile.subgroup_size_min == profile.subgroup_size_max)
        return sizes;
    for (uint32_t size = profile.subgroup_size_min; size <= profile.subgroup_size_max; size *= 2) {
        if (size != policy)
            sizes.push_back(size);
    }
    return sizes;
}

/// All combinations that the device's workgroups allow, the first argument first.
std::vector<WorkgroupSizes> combined(const PlanTarget& target, const WorkgroupSizes& policy,
                                     std::span<const uint32_t> workgroups, std::span<const uint32_t> rows) {
    std::vector<WorkgroupSizes> sizes{policy};
    for (const uint32_t workgroup : workgroups) {
        for (const uint32_t rows_each : rows) {
            for (const uint32_t subgroup : subgroup_candidates(target, policy.subgroup)) {
                const WorkgroupSizes one{.workgroup = workgroup, .rows = rows_each, .subgroup = subgroup};
                if (workgroup <= target.profile.workgroup_invocations_max && subgroup <= workgroup &&
                    one != policy)
                    sizes.push_back(one);
            }
        }
    }
    return sizes;
}

std::vector<WorkgroupSizes> matrix_candidates(const PlanTarget& target, const TunedShape& shape) {
    const WorkgroupSizes policy = policy_sizes(target, shape);
    constexpr std::array rows{1U, 2U, 4U};
    switch (shape.layout.arrangement) {
    case Arrangement::lanes:
        return {policy, {.rows = 1}, {.rows = 2}};
    case Arrangement::rows: {
        if (linear_reduce(target, shape.layout.format).one_subgroup == 1)
            return combined(target, policy, std::array{policy.workgroup}, rows);
        return combined(target, policy, std::array{32U, 64U, 128U, 256U}, rows);
    }
    case Arrangement::tiles:
        break;
    }
    std::vector<WorkgroupSizes> sizes =
        shape.kernel == TunedKernel::gated_linear
            ? combined(target, policy, std::array{128U, 256U}, std::array{2U})
            : combined(target, policy, std::array{128U, 256U, 512U}, std::array{1U, 2U});
    std::erase_if(sizes, [&](const WorkgroupSizes& one) {
        return one.workgroup > tiles_workgroup_max(target, shape.kernel);
    });
    return sizes;
}

} // namespace

std::vector<WorkgroupSizes> tuning_candidates(const PlanTarget& target, const TunedShape& shape) {
    const bool is_matrix =
        shape.kernel != TunedKernel::attention && shape.kernel != TunedKernel::attention_decode;
    const Layout layout = shape.layout;
    if (shape.rows == 0 || shape.columns == 0)
        return {};
    if (is_matrix) {
        const bool is_fused = shape.kernel != TunedKernel::linear;
        const bool fits_tiles = shape.columns % tile_columns == 0 && tiles_usable(target, layout.format) &&
                                (!is_fused || shape.rows % tile_columns == 0);
        const bool has_kernel = layout.arrangement == Arrangement::tiles   ? fits_tiles
                                : layout.arrangement == Arrangement::lanes ? lanes_usable(target.profile)
                                                                           : true;
        return has_kernel && (!is_fused || layout.arrangement == Arrangement::tiles)
                   ? matrix_candidates(target, shape)
                   : std::vector<WorkgroupSizes>{};
    }
    if (shape.kv_heads == 0 || shape.rows % shape.kv_heads != 0 || shape.columns > head_dim_max ||
        shape.columns % 2 != 0)
        return {};
    const WorkgroupSizes policy = policy_sizes(target, shape);
    const AttentionShape heads{.q_heads = shape.rows, .kv_heads = shape.kv_heads, .head_dim = shape.columns};
    if (shape.kernel == TunedKernel::attention)
        return prompt_attention_plan(target, heads, RowPath::prefill)
                   ? std::vector<WorkgroupSizes>{}
                   : combined(target, policy, std::array{32U, 64U, 128U}, std::array{policy.rows});
    if (!uses_decode_kernel(target, heads, RowPath::decode))
        return {};
    // The output's packed form is written by the kernel or by another one, whichever heads are chosen.
    const auto writes_packed = [&](uint32_t count) { return count * shape.columns % tile_columns == 0; };
    std::vector<WorkgroupSizes> sizes =
        combined(target, policy, std::array{policy.workgroup}, std::array{1U, 2U, 4U});
    std::erase_if(sizes, [&](const WorkgroupSizes& one) {
        return !decode_heads_fit(target, heads, one.rows) ||
               writes_packed(one.rows) != writes_packed(policy.rows);
    });
    return sizes;
}

} // namespace etna::kernels
