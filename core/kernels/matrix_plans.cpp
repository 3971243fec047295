#include "core/kernels/matrix_plans.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace etna::kernels {
namespace {

/// The sizes of kernels with matrix units that differ between families.
struct MatrixSizes {
    /// Required size of a subgroup, if the device allows it; else its smallest. Matrices of a subgroup of 64
    /// take half the registers on AMD.
    uint32_t subgroup;
    uint32_t sums; ///< that an invocation of matrix_tiles may hold
    /// Elements of a head, in all blocks of a subgroup, whose queries and sums fit in registers
    /// (scripts/shader-stats).
    uint32_t elements;
};

constexpr std::array<MatrixSizes, 4> matrix_sizes{{
    {32, 128, 128}, // nvidia
    {64, 128, 128}, // amd
    {16, 64, 128},  // intel
    {8, 128, 128},  // lavapipe
}};

const MatrixSizes& matrix_sizes_of(PlanFamily family) {
    return matrix_sizes[static_cast<std::size_t>(family)];
}

constexpr uint32_t matrix_shared_bytes = 16640; ///< rounded up from linear_matrix.comp's arrays

/// A tile of sums of matrix_tiles.comp.
struct MatrixTile {
    uint32_t rows;
    uint32_t columns;
    uint32_t subgroups_down; ///< along the rows
};
/// The larger, the fewer loads for each product.
constexpr std::array<MatrixTile, 5> matrix_tiles{
    {{128, 128, 2}, {128, 64, 2}, {64, 64, 2}, {64, 32, 2}, {32, 32, 2}}};
constexpr uint32_t matrices_max = 4; ///< of sums that one subgroup holds, in either direction
/// Workgroups that fill large devices; a matrix with fewer takes smaller tiles.
constexpr uint32_t matrix_workgroups_min = 128;

/// Parts of k whose sums are added afterwards, so that prompts of some hundred rows fill large devices: a
/// function of the shape alone, so that a row has the same bits in every step. A part has at least 1,024
/// columns; matrices of many more are split once more, because their workgroups are few and long.
uint32_t matrix_splits(uint32_t rows, uint32_t columns) {
    constexpr uint32_t usual_columns_of_tiles = 4; // tiles of 128 that a prompt of 512 rows has
    constexpr uint32_t workgroups_wanted = 192;
    constexpr uint32_t split_columns_min = 1024;
    constexpr uint32_t many_columns = 8192;
    const uint32_t tiles = divide_up(rows, matrix_tiles.front().rows) * usual_columns_of_tiles;
    uint32_t splits = 1;
    while (splits * tiles < workgroups_wanted && columns / (2 * splits) >= split_columns_min)
        splits *= 2;
    return splits > 1 && columns >= many_columns ? 2 * splits : splits;
}

/// matrix_tiles.comp's arrays: two steps of weights and inputs in rows of 80 bytes, and the levels of some
/// formats.
uint32_t matrix_tile_bytes(const MatrixTile& tile) {
    return 2 * (tile.rows + tile.columns) * (prompt_tile_depth + 8) * 2 + 1024;
}

/// Size of the subgroups of kernels with matrix units.
uint32_t matrix_subgroup(const PlanTarget& target) {
    const vk::DeviceProfile& profile = target.profile;
    const uint32_t size = matrix_sizes_of(target.family).subgroup;
    const bool is_allowed = profile.subgroup_size_min <= size && size <= profile.subgroup_size_max;
    return is_allowed ? size : profile.subgroup_size_min;
}

/// Whether the device's matrices divide a tile, and its sums and steps fit.
bool matrix_tile_fits(const PlanTarget& target, const MatrixTile& tile, uint32_t subgroup) {
    const vk::DeviceProfile& profile = target.profile;
    const vk::MatrixShape& shape = profile.matrix_shape;
    const uint32_t rows = tile.rows / tile.subgroups_down; // of a subgroup
    const uint32_t columns = tile.columns / (matrix_subgroups / tile.subgroups_down);
    return rows % shape.rows == 0 && columns % shape.columns == 0 && rows / shape.rows <= matrices_max &&
           columns / shape.columns <= matrices_max &&
           rows * columns / subgroup <= matrix_sizes_of(target.family).sums &&
           matrix_tile_bytes(tile) <= profile.shared_bytes;
}

/// The largest tile that fits, without columns that no input fills and with enough workgroups; nothing if
/// the target cannot run matrix_tiles.
std::optional<MatrixTile> matrix_tile(const PlanTarget& target, uint32_t rows, uint32_t splits,
                                      uint32_t count) {
    const vk::DeviceProfile& profile = target.profile;
    const uint32_t subgroup = matrix_subgroup(target);
    if (profile.matrix_shape.rows == 0 || prompt_tile_depth % profile.matrix_shape.depth != 0 ||
        matrix_subgroups * subgroup > profile.workgroup_invocations_max)
        return std::nullopt;
    std::optional<MatrixTile> found;
    for (const MatrixTile& tile : matrix_tiles) {
        if (!matrix_tile_fits(target, tile, subgroup))
            continue;
        found = tile;
        if (tile.columns < 2 * count &&
            splits * divide_up(rows, tile.rows) * divide_up(count, tile.columns) >= matrix_workgroups_min)
            break;
    }
    return found;
}

/// Steps of weights that matrix_tiles.comp loads together: as many as leave registers for two such batches. A
/// CPU has none to gain, and compiles long loops slowly.
uint32_t steps_ahead(const PlanTarget& target, Format format) {
    constexpr uint32_t plain_columns = 1;
    if (target.profile.type == vk::DeviceType::cpu || block_columns(format) == plain_columns)
        return 1;
    return format == Format::q8_0 ? 2 : 4;
}

LinearPlan tile_plan(const PlanTarget& target, Format format, const MatrixTile& tile, uint32_t splits) {
    const vk::DeviceProfile& profile = target.profile;
    const uint32_t subgroup = matrix_subgroup(target);
    return {.kernel = LinearKernel::matrix_tiles,
            .reduce = {},
            .shape = profile.matrix_shape,
            .workgroup = matrix_subgroups * subgroup,
            .parts = tile.subgroups_down,
            .rows_each = tile.rows,
            .columns_each = tile.columns,
            .ahead = steps_ahead(target, format),
            .splits = splits,
            .subgroup = profile.subgroup_size_control ? subgroup : 0};
}

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
    const uint32_t elements = matrix_sizes_of(target.family).elements;
    const uint32_t subgroup = matrix_subgroup(target);
    const uint32_t head_dim = shape.head_dim;
    constexpr uint32_t prompt_head_max = 256;
    if (rows == 0 || (subgroup != rows && subgroup != 2 * rows && subgroup != 4 * rows) ||
        head_dim % 8 != 0 || head_dim % columns != 0 || head_dim % depth != 0 || head_dim > prompt_head_max)
        return std::nullopt;
    AttentionPlan plan{.kernel = AttentionKernel::prompt,
                       .heads = shape.q_heads / shape.kv_heads,
                       .subgroup = subgroup,
                       .held = std::min(head_dim, elements),
                       .shape = profile.matrix_shape};
    for (const uint32_t subgroups : {4U, 2U}) {
        for (const uint32_t blocks : {2U, 1U}) {
            for (const uint32_t tile : {page_tokens, page_tokens / 2}) {
                plan.workgroup = subgroups * subgroup;
                plan.blocks = blocks;
                plan.tile = tile;
                const bool has_registers =
                    blocks * head_dim <= elements || (blocks == 1 && tile < page_tokens);
                if (has_registers && prompt_sizes_fit(target, plan, head_dim))
                    return plan;
            }
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<LinearPlan> matrix_plan(const PlanTarget& target, Format format) {
    const vk::DeviceProfile& profile = target.profile;
    const vk::MatrixShape& shape = profile.matrix_shape;
    const bool fits = shape.rows > 0 && prompt_tile_rows % shape.rows == 0 &&
                      prompt_tile_columns % shape.columns == 0 && prompt_tile_depth % shape.depth == 0 &&
                      profile.shared_bytes >= matrix_shared_bytes;
    if (!fits || !runs(target, shaders::linear_matrix(static_cast<shaders::Format>(format))))
        return std::nullopt;
    return LinearPlan{.kernel = LinearKernel::matrix,
                      .reduce = {},
                      .shape = shape,
                      .workgroup = matrix_subgroups * profile.subgroup_size_max,
                      .rows_each = prompt_tile_rows,
                      .columns_each = prompt_tile_columns};
}

std::optional<LinearPlan> expert_matrix_plan(const PlanTarget& target, Format format, uint32_t pairs) {
    struct PairTile {
        MatrixTile tile;
        uint32_t pairs_min; ///< from which the tile is not mostly empty
    };
    // An invocation decodes one unit of a row in each step, whatever the columns.
    constexpr std::array<PairTile, 3> tiles{{{{128, 128, 2}, 96}, {{128, 64, 2}, 48}, {{128, 32, 4}, 0}}};
    const uint32_t matrix_rows = target.profile.matrix_shape.rows;
    for (const auto& [tile, pairs_min] : tiles) {
        const bool holds_pairs = matrix_rows > 0 && tile.rows / tile.subgroups_down % (2 * matrix_rows) == 0;
        if (pairs >= pairs_min && holds_pairs && matrix_tile_fits(target, tile, matrix_subgroup(target)))
            return tile_plan(target, format, tile, 1);
    }
    return std::nullopt;
}

std::optional<LinearPlan> matrix_tiles_plan(const PlanTarget& target, Format format, uint32_t rows,
                                            uint32_t columns, uint32_t count) {
    const uint32_t splits = matrix_splits(rows, columns);
    const std::optional<MatrixTile> tile = matrix_tile(target, rows, splits, count);
    if (!tile || !runs(target, shaders::matrix_tiles(static_cast<shaders::Format>(format))))
        return std::nullopt;
    return tile_plan(target, format, *tile, splits);
}

bool prompts_read_packed(const PlanTarget& target) {
    return target.family != PlanFamily::lavapipe &&
           matrix_tiles_plan(target, Format::f16, tile_columns, tile_columns, 1).has_value();
}

std::optional<AttentionPlan> prompt_attention_plan(const PlanTarget& target, const AttentionShape& shape,
                                                   RowPath path) {
    const auto is_rounded = [](CacheFormat format) { return format != CacheFormat::f32; };
    const shaders::Variant variant = shaders::attention_prompt();
    const bool preferred =
        target.family != PlanFamily::lavapipe || target.untrusted.contains(shaders::attention());
    if (path != RowPath::prefill || shape.latent_dim > 0 || !is_rounded(shape.formats.keys) ||
        !is_rounded(shape.formats.values) || !preferred || !runs(target, variant))
        return std::nullopt;
    return prompt_plan(target, shape);
}

} // namespace etna::kernels
