#include "core/kernels/experts.hpp"

#include "core/base/bytes.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/experts/arguments.h"

#include <algorithm>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::ExpertRouteArguments) == 40);
static_assert(sizeof(shaders::ExpertGroupArguments) == 32);
static_assert(sizeof(shaders::ExpertLinearArguments) == 88);
static_assert(sizeof(shaders::ExpertSumArguments) == 64);

constexpr uint32_t tile_pairs_max = 8;
constexpr uint32_t weight_rows_each = 2;   ///< of one workgroup, rows arrangement
constexpr uint32_t weight_groups_each = 2; ///< groups of 8 rows of one workgroup, lanes arrangement

/// Words of groups (shaders/experts/groups.glsl). Sized for as many tiles as pairs, because no tile is empty.
uint64_t group_words(uint32_t pairs) {
    return 1 + 3 * uint64_t{pairs} + pairs;
}

bool fits(vk::Recorder& recorder, std::string_view operation, const ExpertRouting& choice) {
    const uint64_t bytes = uint64_t{choice.rows} * choice.experts_per_token * 4;
    return require(recorder, choice.count > 0 && choice.count <= experts_max, operation,
                   "no experts, or too many") &&
           require(recorder,
                   choice.experts_per_token > 0 &&
                       choice.experts_per_token <= std::min(choice.count, experts_per_token_max),
                   operation, "a row uses no experts, or too many") &&
           require(recorder, bytes / 4 <= expert_pairs_max, operation, "too many rows at once") &&
           require(recorder, choice.experts.bytes >= bytes && choice.routing_weights.bytes >= bytes,
                   operation, "room for choices is short");
}

bool fits(vk::Recorder& recorder, const ExpertLinear& operation) {
    const Matrix& one = operation.weights.matrices;
    const PackedBytes packed = packed_bytes(one.layout, one.rows, one.columns);
    const uint64_t count = operation.weights.count;
    const uint32_t pairs = operation.choice.pairs();
    const uint32_t input_rows = operation.reads == ExpertInput::row ? operation.choice.rows : pairs;
    return fits(recorder, "expert_linear", operation.choice) &&
           require(recorder, count == operation.choice.count, "expert_linear",
                   "weights are of another number of experts") &&
           require(recorder, one.columns == operation.input.columns && one.rows == operation.output.columns,
                   "expert_linear", "weights differ in width from input or output") &&
           require(recorder,
                   one.weights.bytes >= count * packed.weights && one.scales.bytes >= count * packed.scales,
                   "expert_linear", "weights are shorter than their shape") &&
           require(recorder,
                   operation.input.range.bytes >= uint64_t{input_rows} * operation.input.stride * 4 &&
                       operation.output.range.bytes >= uint64_t{pairs} * operation.output.stride * 4,
                   "expert_linear", "input or output is short") &&
           require(recorder, operation.groups.range.bytes >= group_words(pairs) * 4, "expert_linear",
                   "room for groups is short");
}

} // namespace

uint64_t expert_group_bytes(uint32_t rows, uint32_t experts_per_token) {
    return group_words(rows * experts_per_token) * 4;
}

uint32_t expert_tile_pairs(uint32_t pairs, uint32_t experts) {
    uint32_t tile = 1;
    while (tile < tile_pairs_max && tile * experts < pairs)
        tile *= 2;
    return tile;
}

void expert_route(Library& library, vk::Recorder& recorder, const ExpertRoute& operation) {
    const ExpertRouting& choice = operation.choice;
    if (choice.rows == 0 || !fits(recorder, "expert_route", choice) ||
        !require(recorder, operation.router.columns == choice.count, "expert_route",
                 "router and experts differ in number"))
        return;
    const vk::Range router = operation.router.rows(0, choice.rows);
    const shaders::ExpertRouteArguments arguments{
        .router = router.address,
        .experts = choice.experts.address,
        .routing_weights = choice.routing_weights.address,
        .expert_count = choice.count,
        .router_stride = operation.router.stride,
        .experts_per_token = choice.experts_per_token,
        .unused = 0,
    };
    const ReducePlan plan = reduce_plan(library.target(), shaders::expert_route(shaders::Reduce::subgroup));
    launch(library, recorder,
           {.variant = shaders::expert_route(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup, operation.normalised ? 1U : 0U},
            .groups = {choice.rows, 1, 1},
            .reads = {router},
            .writes = {choice.experts, choice.routing_weights}},
           arguments);
}

void expert_group(Library& library, vk::Recorder& recorder, const ExpertRouting& choice,
                  const ExpertGroups& groups) {
    const uint32_t pairs = choice.pairs();
    if (choice.rows == 0 || !fits(recorder, "expert_group", choice) ||
        !require(recorder, groups.range.bytes >= group_words(pairs) * 4, "expert_group",
                 "room for groups is short"))
        return;
    const shaders::ExpertGroupArguments arguments{
        .experts = choice.experts.address,
        .groups = groups.range.address,
        .expert_count = choice.count,
        .pairs = pairs,
        .columns = expert_tile_pairs(pairs, choice.count),
        .tiles = pairs,
    };
    launch(library, recorder,
           {.variant = shaders::expert_group(),
            .specialization = {},
            .groups = {1, 1, 1},
            .reads = {choice.experts},
            .writes = {groups.range}},
           arguments);
}

void expert_linear(Library& library, vk::Recorder& recorder, const ExpertLinear& operation) {
    const ExpertRouting& choice = operation.choice;
    const Matrix& one = operation.weights.matrices;
    if (choice.rows == 0 || !fits(recorder, operation))
        return;
    const uint32_t pairs = choice.pairs();
    const bool by_row = operation.reads == ExpertInput::row;
    const vk::Range input = operation.input.rows(0, by_row ? choice.rows : pairs);
    const vk::Range output = operation.output.rows(0, pairs);
    const shaders::ExpertLinearArguments arguments{
        .weights = one.weights.address,
        .quads = one.weights.address,
        .scales = one.scales.address,
        .x = input.address,
        .y = output.address,
        .groups = operation.groups.range.address,
        .rows = one.rows,
        .padded_rows = static_cast<uint32_t>(round_up(one.rows, repack_rows)),
        .columns = padded_columns(one.columns),
        .expert_count = choice.count,
        .pairs = pairs,
        .pairs_each = by_row ? choice.experts_per_token : 1,
        .tiles = pairs,
        .x_stride = operation.input.stride / 4,
        .y_stride = operation.output.stride,
        .unused = 0,
    };
    const uint32_t columns = expert_tile_pairs(pairs, choice.count);
    // Upper bound of tiles in use: the full ones, and one partial tile per expert.
    const uint32_t tiles = std::min(pairs, pairs / columns + choice.count);
    const auto format = static_cast<shaders::Format>(one.layout.format);
    const auto start = [&](shaders::Variant variant, std::initializer_list<uint32_t> specialization,
                           uint32_t rows_each) {
        launch(library, recorder,
               {.variant = variant,
                .specialization = specialization,
                .groups = folded_groups(divide_up(one.rows, rows_each), tiles),
                .reads = {one.weights, one.scales, input, operation.groups.range},
                .writes = {output}},
               arguments);
    };
    if (one.layout.arrangement == Arrangement::lanes) {
        start(shaders::expert_lanes(format), {weight_groups_each, columns}, weight_groups_each * repack_rows);
    } else {
        const ReducePlan plan =
            reduce_plan(library.target(), shaders::expert_rows(format, shaders::Reduce::subgroup));
        start(shaders::expert_rows(format, plan.reduce),
              {plan.workgroup, plan.one_subgroup, weight_rows_each, columns}, weight_rows_each);
    }
}

void expert_sum(Library& library, vk::Recorder& recorder, const ExpertSum& operation) {
    const ExpertRouting& choice = operation.choice;
    if (choice.rows == 0 || !fits(recorder, "expert_sum", choice) ||
        !require(recorder, operation.input.columns == operation.output.columns, "expert_sum",
                 "input and output differ in width") ||
        !require(recorder,
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
        .unused = 0,
    };
    launch(library, recorder,
           {.variant = shaders::expert_sum(),
            .specialization = {operation.bias ? 1U : 0U},
            .groups = {divide_up(operation.input.columns, 64), choice.rows, 1},
            .reads = {input, choice.routing_weights, operation.bias ? choice.experts : vk::Range{}, bias},
            .writes = {output}},
           arguments);
}

} // namespace etna::kernels
