#include "core/kernels/operations/experts.hpp"

#include "core/base/bytes.hpp"
#include "core/kernels/operations/pack.hpp"
#include "core/kernels/operations/stack_product.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/experts/arguments.h"

#include <algorithm>
#include <bit>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::ExpertRouteArguments) == 64);
static_assert(sizeof(shaders::ExpertRouterArguments) == 112);
static_assert(sizeof(shaders::ExpertGroupArguments) == 32);
static_assert(sizeof(shaders::ExpertLinearArguments) == 88);
static_assert(sizeof(shaders::ExpertTilesArguments) == 120);
static_assert(sizeof(shaders::ExpertDownArguments) == 80);
static_assert(sizeof(shaders::ExpertSumArguments) == 64);

constexpr uint32_t tile_pairs_max = 8;
/// Of matrices in tiles: more pairs need more registers than occupancy allows (scripts/shader-stats).
constexpr uint32_t tiles_pairs_max = 4;
constexpr uint32_t tiles_groups_each = 2; ///< groups of 8 rows of one workgroup, tiles arrangement
constexpr uint32_t router_rows_max = 4;   ///< of the batch, of one workgroup of expert_router
/// expert_down.comp divides by multiplying: n / d for n < c d is n ceil(2^24 / d) >> 24 if c d^2 < 2^24.
constexpr uint32_t exact_quotients = 1U << 24U;

/// Words of groups (shaders/experts/groups.glsl). Sized for as many tiles as pairs, because no tile is empty.
uint64_t group_words(uint32_t pairs) {
    return 1 + 3 * uint64_t{pairs} + pairs;
}

bool fits(const Launcher& launcher, std::string_view operation, const ExpertRouting& choice) {
    const uint64_t bytes = uint64_t{choice.rows} * choice.experts_per_token * 4;
    return require(launcher, choice.count > 0 && choice.count <= experts_max, operation,
                   "no experts, or too many") &&
           require(launcher,
                   choice.experts_per_token > 0 &&
                       choice.experts_per_token <= std::min(choice.count, experts_per_token_max),
                   operation, "a row uses no experts, or too many") &&
           require(launcher, bytes / 4 <= expert_pairs_max, operation, "too many rows at once") &&
           require(launcher, choice.experts.bytes >= bytes && choice.routing_weights.bytes >= bytes,
                   operation, "room for choices is short");
}

/// Whether a stack has its experts' shape; `operation` names the caller.
bool fits(const Launcher& launcher, std::string_view operation, const MatrixStack& stack,
          const ExpertRouting& choice) {
    const Matrix& one = stack.matrices;
    const PackedBytes packed = packed_bytes(one.layout, one.rows, one.columns);
    const uint64_t count = stack.count;
    return require(launcher, count == choice.count, operation, "weights are of another number of experts") &&
           require(launcher,
                   one.weights.bytes >= count * packed.weights && one.scales.bytes >= count * packed.scales,
                   operation, "weights are shorter than their shape") &&
           require(launcher, packed.weights <= UINT32_MAX, operation, "one expert's weights are too large");
}

bool fits(const Launcher& launcher, std::string_view operation, const RoutingRule& rule,
          const ExpertRouting& choice) {
    const uint32_t experts = choice.count;
    const bool has_groups = rule.groups > 0 && rule.groups <= expert_groups_max && rule.groups_used > 0 &&
                            experts % rule.groups == 0;
    return require(
               launcher,
               has_groups && uint64_t{experts / rule.groups} * rule.groups_used >= choice.experts_per_token,
               operation, "groups of experts are too many, of different sizes, or too few to choose from") &&
           require(launcher, !rule.selection_bias || rule.scores == RoutingRule::Scores::sigmoid, operation,
                   "a selection bias needs sigmoid scores") &&
           require(launcher, !rule.selection_bias || rule.selection_bias->bytes >= uint64_t{experts} * 4,
                   operation, "the selection bias is short") &&
           require(launcher, !rule.expert_scales || rule.expert_scales->bytes >= uint64_t{experts} * 4,
                   operation, "the scales of experts are short");
}

uint32_t is_sigmoid(const RoutingRule& rule) {
    return rule.scores == RoutingRule::Scores::sigmoid ? 1 : 0;
}

bool fits(const Launcher& launcher, const ExpertRouter& operation, bool usable) {
    constexpr std::string_view name = "expert_router";
    const Matrix& weight = operation.weight;
    const ExpertRouting& choice = operation.choice;
    const uint64_t end = uint64_t{operation.first} + choice.rows;
    return fits(launcher, name, choice) && fits(launcher, name, operation.rule, choice) &&
           require(launcher, usable, name,
                   "the weight is not in f32 and rows, or the kernel is not trusted") &&
           require(launcher, weight.rows == choice.count && operation.router.columns == choice.count, name,
                   "router and experts differ in number") &&
           require(launcher, weight.columns == operation.input.columns, name,
                   "weight and input differ in width") &&
           require(launcher,
                   weight.weights.bytes >= packed_bytes(weight.layout, weight.rows, weight.columns).weights,
                   name, "weight is shorter than its shape") &&
           require(launcher,
                   operation.input.range.bytes >= end * operation.input.stride * 4 &&
                       operation.router.range.bytes >= end * operation.router.stride * 4,
                   name, "input or router is short") &&
           require(launcher, !operation.bias || operation.bias->bytes >= uint64_t{choice.count} * 4, name,
                   "bias is short") &&
           require(launcher, operation.counters.bytes >= uint64_t{choice.rows} * 4, name,
                   "there are fewer counters than rows");
}

bool groups_fit(const Launcher& launcher, std::string_view operation,
                const std::optional<ExpertGroups>& groups, uint32_t pairs) {
    return require(launcher, !groups || groups->range.bytes >= group_words(pairs) * 4, operation,
                   "room for groups is short");
}

bool fits(const Launcher& launcher, const ExpertLinear& operation) {
    constexpr std::string_view name = "expert_linear";
    const Matrix& one = operation.weights.matrices;
    const uint32_t pairs = operation.choice.pairs();
    const uint32_t input_rows = operation.reads == ExpertInput::row ? operation.choice.rows : pairs;
    const bool is_tiled = one.layout.arrangement == Arrangement::tiles;
    return fits(launcher, name, operation.choice) &&
           fits(launcher, name, operation.weights, operation.choice) &&
           require(launcher, one.columns == operation.input.columns && one.rows == operation.output.columns,
                   name, "weights differ in width from input or output") &&
           require(launcher,
                   operation.input.range.bytes >= uint64_t{input_rows} * operation.input.stride * 4 &&
                       operation.output.range.bytes >= uint64_t{pairs} * operation.output.stride * 4,
                   name, "input or output is short") &&
           (!is_tiled || make_packed(launcher, name, {.rows = operation.input, .count = input_rows})) &&
           require(launcher, is_tiled || operation.groups, name, "pairs are not grouped") &&
           groups_fit(launcher, name, operation.groups, pairs);
}

bool fits(const Launcher& launcher, const ExpertGateUp& operation) {
    constexpr std::string_view name = "expert_gate_up";
    const Matrix& gate = operation.gate.matrices;
    const Matrix& up = operation.up.matrices;
    const Activations& output = operation.output;
    const uint32_t pairs = operation.choice.pairs();
    const uint64_t bias_bytes = uint64_t{operation.choice.count} * gate.rows * 4;
    return fits(launcher, name, operation.choice) && fits(launcher, name, operation.gate, operation.choice) &&
           fits(launcher, name, operation.up, operation.choice) &&
           require(launcher,
                   gate.layout.arrangement == Arrangement::tiles && gate.layout == up.layout &&
                       gate.rows == up.rows && gate.columns == up.columns,
                   name, "gate and up are not in tiles of one layout and shape") &&
           require(launcher, gate.columns == operation.input.columns && gate.rows == output.columns, name,
                   "weights differ in width from input or output") &&
           make_packed(launcher, name, {.rows = operation.input, .count = operation.choice.rows}) &&
           require(launcher, output.range.bytes >= uint64_t{pairs} * output.stride * 4, name,
                   "output is short") &&
           require(launcher,
                   !operation.biases || (operation.biases->gate.bytes >= bias_bytes &&
                                         operation.biases->up.bytes >= bias_bytes),
                   name, "biases are shorter than their shape") &&
           require(launcher,
                   !operation.packed || (gate.rows % tile_columns == 0 &&
                                         output.packed.bytes >= pairs * packed_row_bytes(gate.rows) &&
                                         operation.counters.bytes >= expert_counter_bytes(pairs, gate.rows)),
                   name, "room for packed rows or counters is short") &&
           groups_fit(launcher, name, operation.groups, pairs);
}

bool fits(const Launcher& launcher, const ExpertDown& operation) {
    constexpr std::string_view name = "expert_down";
    const Matrix& one = operation.weights.matrices;
    const ExpertRouting& choice = operation.choice;
    const uint64_t column_tiles = one.columns / tile_columns;
    return fits(launcher, name, choice) && fits(launcher, name, operation.weights, choice) &&
           require(launcher, one.layout.arrangement == Arrangement::tiles, name,
                   "weights are not in tiles") &&
           require(launcher, one.columns == operation.input.columns && one.rows == operation.output.columns,
                   name, "weights differ in width from input or output") &&
           require(launcher, choice.experts_per_token * column_tiles * column_tiles < exact_quotients, name,
                   "weights are too wide") &&
           make_packed(launcher, name, {.rows = operation.input, .count = choice.pairs()}) &&
           require(launcher,
                   operation.output.range.bytes >= uint64_t{choice.rows} * operation.output.stride * 4, name,
                   "output is short") &&
           require(launcher,
                   !operation.bias || operation.bias->bytes >= uint64_t{choice.count} * one.rows * 4, name,
                   "bias is shorter than its shape");
}

/// Workgroups of the kernels whose work is by tile of pairs.
uint32_t tiles_of(const std::optional<ExpertGroups>& groups, const ExpertRouting& choice) {
    const uint32_t pairs = choice.pairs();
    // Upper bound of tiles in use: the full ones, and one partial tile per expert.
    return groups ? std::min(pairs, pairs / groups->tile_pairs + choice.count) : pairs;
}

/// Arguments of expert_tiles.comp for one matrix, without biases and the packed form.
shaders::ExpertTilesArguments tiles_arguments(const Matrix& one, const ExpertRouting& choice,
                                              const std::optional<ExpertGroups>& groups, vk::Range input,
                                              uint32_t pairs_each, const Activations& output) {
    return {
        .gate = one.weights.address,
        .up = one.weights.address,
        .x = input.address,
        .y = output.range.address,
        .words = output.range.address, // never null: see sample.cpp
        .floats = output.range.address,
        .counters = output.range.address,
        .gate_bias = output.range.address,
        .up_bias = output.range.address,
        .experts = choice.experts.address,
        .groups = groups ? groups->range.address : choice.experts.address,
        .rows = one.rows,
        .padded_rows = static_cast<uint32_t>(round_up(one.rows, repack_rows)),
        .column_tiles = one.columns / tile_columns,
        .expert_count = choice.count,
        .pairs = choice.pairs(),
        .pairs_each = pairs_each,
        .tiles = choice.pairs(),
        .y_stride = output.stride,
    };
}

void launch_tiles(const Launcher& launcher, const ExpertLinear& operation) {
    const ExpertRouting& choice = operation.choice;
    const Matrix& one = operation.weights.matrices;
    const bool by_row = operation.reads == ExpertInput::row;
    const vk::Range input = operation.input.packed_rows(0, by_row ? choice.rows : choice.pairs());
    const vk::Range output = operation.output.rows(0, choice.pairs());
    const ExpertTilesPlan plan = expert_tiles_plan(launcher.target(), one.layout.format);
    const uint32_t workgroup = expert_tiles_workgroup(launcher.target(), one.columns / tile_columns);
    const uint32_t columns = operation.groups ? operation.groups->tile_pairs : 1;
    launch(launcher,
           {.variant = plan.variant,
            .specialization = {workgroup, tiles_groups_each, columns, tile_parts, plan.code_bytes,
                               operation.groups ? 1U : 0U, 0, 0, 0, 0},
            .groups = folded_groups(divide_up(one.rows, tiles_groups_each * repack_rows),
                                    tiles_of(operation.groups, choice)),
            .reads = {one.weights, input, operation.groups ? operation.groups->range : choice.experts},
            .writes = {output}},
           tiles_arguments(one, choice, operation.groups, input, by_row ? choice.experts_per_token : 1,
                           operation.output));
}

} // namespace

uint64_t expert_group_bytes(uint32_t rows, uint32_t experts_per_token) {
    return group_words(rows * experts_per_token) * 4;
}

uint64_t expert_counter_bytes(uint32_t pairs, uint32_t rows) {
    return uint64_t{pairs} * (rows / tile_columns) * sizeof(uint32_t);
}

uint32_t expert_tile_pairs(uint32_t pairs, uint32_t experts, Arrangement arrangement) {
    const uint32_t most = arrangement == Arrangement::tiles ? tiles_pairs_max : tile_pairs_max;
    uint32_t tile = 1;
    while (tile < most && tile * experts < pairs)
        tile *= 2;
    return tile;
}

void expert_route(const Launcher& launcher, const ExpertRoute& operation) {
    const ExpertRouting& choice = operation.choice;
    if (choice.rows == 0 || !fits(launcher, "expert_route", choice) ||
        !fits(launcher, "expert_route", operation.rule, choice) ||
        !require(launcher, operation.router.columns == choice.count, "expert_route",
                 "router and experts differ in number"))
        return;
    const RoutingRule& rule = operation.rule;
    const vk::Range router = operation.router.rows(0, choice.rows);
    const vk::Range selection_bias = rule.selection_bias.value_or(vk::Range{});
    const vk::Range expert_scales = rule.expert_scales.value_or(vk::Range{});
    const shaders::ExpertRouteArguments arguments{
        .router = router.address,
        .selection_bias = rule.selection_bias ? selection_bias.address : router.address,
        .expert_scales = rule.expert_scales ? expert_scales.address : router.address,
        .experts = choice.experts.address,
        .routing_weights = choice.routing_weights.address,
        .expert_count = choice.count,
        .router_stride = operation.router.stride,
        .experts_per_token = choice.experts_per_token,
        .scale = rule.scale,
        .groups = rule.groups,
        .groups_used = rule.groups_used,
    };
    const ReducePlan plan = reduce_plan(launcher.target(), shaders::expert_route(shaders::Reduce::subgroup));
    launch(launcher,
           {.variant = shaders::expert_route(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup, rule.normalised ? 1U : 0U, is_sigmoid(rule),
                               rule.selection_bias ? 1U : 0U, rule.expert_scales ? 1U : 0U,
                               rule.is_grouped() ? 1U : 0U},
            .groups = {choice.rows, 1, 1},
            .reads = {router, selection_bias, expert_scales},
            .writes = {choice.experts, choice.routing_weights}},
           arguments);
}

bool expert_router_usable(const PlanTarget& target, const Matrix& weight) {
    const bool trusted = !target.untrusted.contains(shaders::expert_router(shaders::Reduce::shared)) ||
                         (target.profile.subgroup_arithmetic &&
                          !target.untrusted.contains(shaders::expert_router(shaders::Reduce::subgroup)));
    return weight.layout == Layout{.format = Format::f32, .arrangement = Arrangement::rows} &&
           weight.further.empty() && trusted;
}

void expert_router(const Launcher& launcher, const ExpertRouter& operation) {
    const ExpertRouting& choice = operation.choice;
    const uint32_t rows = choice.rows;
    if (rows == 0 || !fits(launcher, operation, expert_router_usable(launcher.target(), operation.weight)))
        return;
    const vk::Range input = operation.input.rows(operation.first, rows);
    const vk::Range router = operation.router.rows(operation.first, rows);
    const vk::Range bias = operation.bias.value_or(vk::Range{});
    const RoutingRule& rule = operation.rule;
    const vk::Range selection_bias = rule.selection_bias.value_or(vk::Range{});
    const vk::Range expert_scales = rule.expert_scales.value_or(vk::Range{});
    const uint32_t columns = padded_columns(operation.weight.columns);
    const shaders::ExpertRouterArguments arguments{
        .weights = operation.weight.weights.address,
        .x = input.address,
        .bias = operation.bias ? bias.address : router.address, // never null: see sample.cpp
        .selection_bias = rule.selection_bias ? selection_bias.address : router.address,
        .expert_scales = rule.expert_scales ? expert_scales.address : router.address,
        .router = router.address,
        .experts = choice.experts.address,
        .routing_weights = choice.routing_weights.address,
        .counters = operation.counters.address,
        .rows = rows,
        .columns = columns / 4,
        .x_stride = operation.input.stride / 4,
        .router_stride = operation.router.stride,
        .expert_count = choice.count,
        .experts_per_token = choice.experts_per_token,
        .use_bias = operation.bias ? 1U : 0U,
        .scale = rule.scale,
        .groups = rule.groups,
        .groups_used = rule.groups_used,
    };
    const ReducePlan plan = expert_router_plan(launcher.target(), columns);
    const uint32_t rows_each = std::min(std::bit_ceil(rows), router_rows_max);
    launch(launcher,
           {.variant = shaders::expert_router(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup, rows_each, rule.normalised ? 1U : 0U,
                               is_sigmoid(rule), rule.selection_bias ? 1U : 0U, rule.expert_scales ? 1U : 0U,
                               rule.is_grouped() ? 1U : 0U},
            .groups = {choice.count, divide_up(rows, rows_each), 1},
            .reads = {operation.weight.weights, input, bias, selection_bias, expert_scales},
            .writes = {router, choice.experts, choice.routing_weights, operation.counters}},
           arguments);
}

void expert_group(const Launcher& launcher, const ExpertRouting& choice, const ExpertGroups& groups) {
    const uint32_t pairs = choice.pairs();
    if (choice.rows == 0 || !fits(launcher, "expert_group", choice) ||
        !require(launcher, groups.range.bytes >= group_words(pairs) * 4, "expert_group",
                 "room for groups is short"))
        return;
    const shaders::ExpertGroupArguments arguments{
        .experts = choice.experts.address,
        .groups = groups.range.address,
        .expert_count = choice.count,
        .pairs = pairs,
        .columns = groups.tile_pairs,
        .tiles = pairs,
    };
    launch(launcher,
           {.variant = shaders::expert_group(),
            .specialization = {},
            .groups = {1, 1, 1},
            .reads = {choice.experts},
            .writes = {groups.range}},
           arguments);
}

void expert_linear(const Launcher& launcher, const ExpertLinear& operation) {
    const ExpertRouting& choice = operation.choice;
    const Matrix& one = operation.weights.matrices;
    if (choice.rows == 0 || !fits(launcher, operation))
        return;
    if (one.layout.arrangement == Arrangement::tiles) {
        launch_tiles(launcher, operation);
        return;
    }
    const ExpertGroups& groups = *operation.groups;
    const uint32_t pairs = choice.pairs();
    const bool by_row = operation.reads == ExpertInput::row;
    launch_stack_product(launcher, {.weights = operation.weights,
                                    .input = operation.input.rows(0, by_row ? choice.rows : pairs),
                                    .output = operation.output.rows(0, pairs),
                                    .groups = groups.range,
                                    .pairs = pairs,
                                    .pairs_each = by_row ? choice.experts_per_token : 1,
                                    .tile_pairs = groups.tile_pairs,
                                    .tiles = tiles_of(groups, choice),
                                    .input_stride = operation.input.stride,
                                    .output_stride = operation.output.stride});
}

void expert_gate_up(const Launcher& launcher, const ExpertGateUp& operation) {
    const ExpertRouting& choice = operation.choice;
    const Matrix& gate = operation.gate.matrices;
    const Matrix& up = operation.up.matrices;
    if (choice.rows == 0 || !fits(launcher, operation))
        return;
    const uint32_t pairs = choice.pairs();
    const vk::Range input = operation.input.packed_rows(0, choice.rows);
    const vk::Range output = operation.output.rows(0, pairs);
    const vk::Range packed = operation.packed ? operation.output.packed_rows(0, pairs) : vk::Range{};
    const GateBiases biases = operation.biases.value_or(GateBiases{});
    shaders::ExpertTilesArguments arguments =
        tiles_arguments(gate, choice, operation.groups, input, choice.experts_per_token, operation.output);
    arguments.up = up.weights.address;
    if (operation.packed) {
        arguments.words = arguments.floats = packed.address;
        arguments.counters = operation.counters.address;
    }
    if (operation.biases) {
        arguments.gate_bias = biases.gate.address;
        arguments.up_bias = biases.up.address;
    }
    const ExpertTilesPlan plan = expert_tiles_plan(launcher.target(), gate.layout.format);
    const uint32_t workgroup = expert_tiles_workgroup(launcher.target(), arguments.column_tiles);
    const uint32_t columns = operation.groups ? operation.groups->tile_pairs : 1;
    launch(launcher,
           {.variant = plan.variant,
            .specialization = {workgroup, tiles_groups_each, columns, tile_parts, plan.code_bytes,
                               operation.groups ? 1U : 0U, 1, static_cast<uint32_t>(operation.kind),
                               operation.biases ? 1U : 0U,
                               operation.packed ? written_blocks(launcher.target()) : 0U},
            .groups = folded_groups(divide_up(gate.rows, repack_rows), tiles_of(operation.groups, choice)),
            .reads = {gate.weights, up.weights, input, biases.gate, biases.up,
                      operation.groups ? operation.groups->range : choice.experts},
            .writes = {output, packed, operation.packed ? operation.counters : vk::Range{}}},
           arguments);
    if (operation.packed)
        launcher.note_packed(operation.output, PackedForm::blocks, 0, pairs);
}

void expert_down(const Launcher& launcher, const ExpertDown& operation) {
    const ExpertRouting& choice = operation.choice;
    const Matrix& one = operation.weights.matrices;
    if (choice.rows == 0 || !fits(launcher, operation))
        return;
    const vk::Range input = operation.input.packed_rows(0, choice.pairs());
    const vk::Range output = operation.output.rows(0, choice.rows);
    const vk::Range bias = operation.bias.value_or(vk::Range{});
    const uint32_t column_tiles = one.columns / tile_columns;
    const shaders::ExpertDownArguments arguments{
        .weights = one.weights.address,
        .x = input.address,
        .y = output.address,
        .experts = choice.experts.address,
        .routing_weights = choice.routing_weights.address,
        .bias = operation.bias ? bias.address : output.address, // never null: see sample.cpp
        .rows = one.rows,
        .padded_rows = static_cast<uint32_t>(round_up(one.rows, repack_rows)),
        .column_tiles = column_tiles,
        .column_tiles_inverse = divide_up(exact_quotients, column_tiles),
        .expert_count = choice.count,
        .experts_per_token = choice.experts_per_token,
        .y_stride = operation.output.stride,
        .add = operation.store == Store::add ? 1U : 0U,
    };
    const ExpertTilesPlan plan = expert_down_plan(launcher.target(), one.layout.format);
    const uint32_t workgroup =
        expert_down_workgroup(launcher.target(), choice.experts_per_token * column_tiles);
    launch(launcher,
           {.variant = plan.variant,
            .specialization = {workgroup, 1, 1, tile_parts, plan.code_bytes, operation.bias ? 1U : 0U},
            .groups = {choice.rows, divide_up(one.rows, repack_rows), 1},
            .reads = {one.weights, input, choice.experts, choice.routing_weights, bias},
            .writes = {output}},
           arguments);
}

void expert_sum(const Launcher& launcher, const ExpertSum& operation) {
    const ExpertRouting& choice = operation.choice;
    if (choice.rows == 0 || !fits(launcher, "expert_sum", choice) ||
        !require(launcher, operation.input.columns == operation.output.columns, "expert_sum",
                 "input and output differ in width") ||
        !require(launcher,
                 !operation.bias ||
                     operation.bias->bytes >= uint64_t{choice.count} * operation.input.columns * 4,
                 "expert_sum", "bias is shorter than its shape"))
        return;
    const vk::Range input = operation.input.rows(0, choice.pairs());
    const vk::Range output = operation.output.rows(0, choice.rows);
    const vk::Range bias = operation.bias.value_or(input); // never null: see sample.cpp
    const shaders::ExpertSumArguments arguments{
        .x = input.address,
        .routing_weights = choice.routing_weights.address,
        .y = output.address,
        .experts = choice.experts.address,
        .bias = bias.address,
        .columns = operation.input.columns,
        .experts_per_token = choice.experts_per_token,
        .x_stride = operation.input.stride,
        .y_stride = operation.output.stride,
        .expert_count = choice.count,
        .add = operation.store == Store::add ? 1U : 0U,
    };
    launch(launcher,
           {.variant = shaders::expert_sum(),
            .specialization = {operation.bias ? 1U : 0U},
            .groups = {divide_up(operation.input.columns, 64), choice.rows, 1},
            .reads = {input, choice.routing_weights, operation.bias ? choice.experts : vk::Range{}, bias},
            .writes = {output}},
           arguments);
}

} // namespace etna::kernels
