#include "core/kernels/operations/heads_linear.hpp"

#include "core/kernels/operations/pack.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"
#include "shaders/rotary/arguments.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::HeadsLinearArguments) == 224);
constexpr std::string_view heads_name = "heads_linear";

/// A matrix of an operation, its output, and the counters of its heads.
struct Member {
    const HeadMatrix* matrix = nullptr; ///< null: not in this dispatch
    Activations output;
    uint32_t role = 0;
    vk::Range counters;
};

std::array<Member, stacked_matrices_max> members_of(const HeadsLinear& operation) {
    const RotaryStore& heads = operation.heads;
    const auto pointer = [](const std::optional<HeadMatrix>& matrix) { return matrix ? &*matrix : nullptr; };
    std::array<Member, stacked_matrices_max> members{
        {{pointer(operation.q), heads.q, shaders::heads_query, {}},
         {pointer(operation.k), heads.k, shaders::heads_key, {}},
         {pointer(operation.v), heads.v, shaders::heads_value, {}}}};
    uint64_t first = 0;
    for (Member& member : members) {
        const uint32_t count = member.role == shaders::heads_query ? heads.q_heads : heads.cache.kv_heads;
        const uint64_t bytes = heads_counter_bytes(heads.rows.count, count, 0);
        if (first + bytes <= operation.counters.bytes)
            member.counters = operation.counters.part(first, bytes);
        first += bytes;
    }
    return members;
}

bool fits(const Launcher& launcher, const HeadsLinear& operation, Layout layout, const Member& member) {
    const Matrix& weight = member.matrix->weight;
    const auto& bias = member.matrix->bias;
    return require(launcher, weight.layout == layout && weight.columns == operation.input.columns, heads_name,
                   "the matrices differ in layout, or from the input in width") &&
           require(launcher,
                   weight.rows == member.output.columns &&
                       weight.weights.bytes >= packed_bytes(layout, weight.rows, weight.columns).weights,
                   heads_name, "weight and output differ in width, or weight is shorter than its shape") &&
           require(launcher, !bias || bias->bytes >= uint64_t{weight.rows} * sizeof(float), heads_name,
                   "bias is short");
}

bool prepare_inputs(const Launcher& launcher, const HeadsLinear& operation) {
    const Activations& input = operation.input;
    const Rows& rows = operation.heads.rows;
    const uint64_t end = uint64_t{rows.first} + rows.count;
    return make_packed(launcher, heads_name, {.rows = input, .first = rows.first, .count = rows.count},
                       operation.norm.has_value()) &&
           require(launcher,
                   !operation.norm ||
                       operation.norm->squares.bytes >= end * (input.columns / tile_columns) * sizeof(float),
                   heads_name, "the squares of the pending norm are shorter than the rows") &&
           require(launcher,
                   operation.counters.bytes >= heads_counter_bytes(rows.count, operation.heads.q_heads,
                                                                   operation.heads.cache.kv_heads),
                   heads_name, "counters are short");
}

/// The arguments that do not depend on the matrices.
shaders::HeadsLinearArguments arguments_of(const HeadsLinear& operation, const vk::Range& angles) {
    const RotaryStore& heads = operation.heads;
    const auto& [first, count] = std::pair(heads.rows.first, heads.rows.count);
    const uint32_t columns = operation.input.columns;
    const vk::Range input = operation.input.packed_rows(first, count);
    return {.weights = {},
            .y = {},
            .bias = {},
            .x = input.address,
            // never null: see sample.cpp
            .squares = operation.norm ? operation.norm->rows(first, count, columns).address : input.address,
            .rows = {},
            .y_strides = {},
            .tiles = columns / tile_columns,
            .count = count,
            .epsilon = operation.norm ? operation.norm->epsilon : 0,
            .options = operation.norm ? shaders::linear_pending_norm : 0U,
            .counters = operation.counters.address,
            .infos = heads.rows.infos.address,
            .angles = angles.address,
            .keys = heads.cache.keys.address,
            .values = heads.cache.values.address,
            .tables = heads.tables.range.address,
            .norms = heads.q_norm.value_or(input).address,
            .k_norms = heads.k_norm.value_or(input).address,
            .q_heads = heads.q_heads,
            .kv_heads = heads.cache.kv_heads,
            .rotated = heads.rotated,
            .pages = heads.cache.pages,
            .head_epsilon = heads.epsilon,
            .temperature_scale = heads.temperature_scale,
            .temperature_tokens = heads.temperature_tokens,
            .unused = 0};
}

void launch_heads(const Launcher& launcher, const HeadsLinear& operation,
                  const std::array<Member, stacked_matrices_max>& members) {
    const RotaryStore& heads = operation.heads;
    const LayerCache& cache = heads.cache;
    const auto [first, count] = std::pair(heads.rows.first, heads.rows.count);
    const vk::Range angles = angles_of(heads.rows, heads.angles, heads.rotated);
    shaders::HeadsLinearArguments arguments = arguments_of(operation, angles);
    std::array<vk::Range, stacked_matrices_max> weights;
    std::array<vk::Range, stacked_matrices_max> biases;
    std::array<vk::Range, stacked_matrices_max> outputs;
    std::array<vk::Range, stacked_matrices_max> counters;
    uint32_t rows = 0;
    Layout layout;
    uint32_t size = 0;
    for (const Member& member : members) {
        if (member.matrix == nullptr)
            continue;
        const auto& [weight, bias] = *member.matrix;
        layout = weight.layout;
        rows += weight.rows;
        weights[size] = weight.weights;
        biases[size] = bias.value_or(vk::Range{});
        outputs[size] = member.output.rows(first, count);
        counters[size] = member.counters;
        arguments.weights[size] = weight.weights.address;
        arguments.y[size] = outputs[size].address;
        arguments.bias[size] = bias ? bias->address : outputs[size].address;
        arguments.rows[size] = weight.rows;
        arguments.y_strides[size] = member.output.stride;
        arguments.options |= (bias ? shaders::linear_bias_0 << size : 0U) |
                             member.role << (shaders::heads_role_shift + 2 * size);
        ++size;
    }
    const LinearPlan plan = heads_linear_plan(launcher.target(), layout.format, rows, operation.input.columns,
                                              count, cache.head_dim);
    const vk::Range squares =
        operation.norm ? operation.norm->rows(first, count, operation.input.columns) : vk::Range{};
    launch(
        launcher,
        {.variant = heads_linear_variant(plan, layout.format),
         .specialization = {plan.workgroup, plan.rows_each, plan.columns_each, plan.parts, plan.code_bytes,
                            cache.head_dim, heads.pairs == RotaryPairs::halves ? 1U : 0U,
                            heads.q_norm && heads.k_norm ? 1U : 0U, static_cast<uint32_t>(cache.formats.keys),
                            static_cast<uint32_t>(cache.formats.values)},
         .groups = folded_groups(rows / (plan.rows_each * repack_rows), divide_up(count, plan.columns_each)),
         .reads = {operation.input.packed_rows(first, count), squares, weights[0], weights[1], weights[2],
                   biases[0], biases[1], biases[2], heads.rows.infos, angles, heads.tables.range,
                   heads.q_norm.value_or(vk::Range{}), heads.k_norm.value_or(vk::Range{})},
         .writes = {outputs[0], outputs[1], outputs[2], counters[0], counters[1], counters[2],
                    operation.k ? cache.keys : vk::Range{}, operation.v ? cache.values : vk::Range{}},
         .subgroup = plan.subgroup},
        arguments);
}

} // namespace

uint64_t heads_counter_bytes(uint32_t rows, uint32_t q_heads, uint32_t kv_heads) {
    return uint64_t{rows} * (uint64_t{q_heads} + 2 * uint64_t{kv_heads}) * sizeof(uint32_t);
}

bool can_fuse_heads(const PlanTarget& target, const Matrix& weight, uint32_t head_dim) {
    const Format format = weight.layout.format;
    const shaders::Variant variant = heads_linear_variant(
        heads_linear_plan(target, format, weight.rows, weight.columns, 1, head_dim), format);
    return weight.layout.arrangement == Arrangement::tiles && weight.further.empty() && head_dim > 0 &&
           head_dim % repack_rows == 0 && weight.rows % head_dim == 0 &&
           usable(variant, target.profile).has_value() && !target.untrusted.contains(variant);
}

void heads_linear(const Launcher& launcher, const HeadsLinear& operation) {
    const auto members = members_of(operation);
    if (operation.heads.rows.count == 0)
        return;
    const auto* const first =
        std::ranges::find_if(members, [](const Member& member) { return member.matrix != nullptr; });
    if (!require(launcher, first != members.end(), heads_name, "no matrix is given") ||
        !rotary_fits(launcher, operation.heads) || !prepare_inputs(launcher, operation))
        return;
    const Layout layout = first->matrix->weight.layout;
    for (const Member& member : members) {
        if (member.matrix == nullptr)
            continue;
        if (!fits(launcher, operation, layout, member) ||
            !require(launcher,
                     can_fuse_heads(launcher.target(), member.matrix->weight, operation.heads.cache.head_dim),
                     heads_name, "a matrix is not in tiles, or its heads are no multiple of 8"))
            return;
    }
    launch_heads(launcher, operation, members);
}

} // namespace etna::kernels
