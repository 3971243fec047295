#include "core/kernels/operations/fused_linear.hpp"

#include "core/kernels/operations/pack.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::FusedLinearArguments) == 128);
constexpr std::string_view fused_name = "fused_linear";

bool fits(const Launcher& launcher, const FusedLinear& operation) {
    const Matrix& weight = operation.weight;
    const uint64_t end = uint64_t{operation.first} + operation.count;
    const uint64_t packed = packed_bytes(weight.layout, weight.rows, weight.columns).weights;
    const auto norm_fits = [&](const vk::Range& squares, uint32_t columns) {
        return squares.bytes >= end * (columns / tile_columns) * sizeof(float);
    };
    const auto& next = operation.next_norm;
    return require(launcher, weight.columns == operation.input.columns, fused_name,
                   "weight and input differ in width") &&
           require(launcher, weight.rows == operation.output.columns, fused_name,
                   "weight and output differ in width") &&
           require(launcher, weight.weights.bytes >= packed, fused_name,
                   "weight is shorter than its shape") &&
           require(launcher,
                   !operation.gated ||
                       (operation.gated->up.layout == weight.layout &&
                        operation.gated->up.rows == weight.rows &&
                        operation.gated->up.columns == weight.columns &&
                        operation.gated->up.further.empty() && operation.gated->up.weights.bytes >= packed),
                   fused_name, "gate and up differ in shape, layout or parts") &&
           require(launcher, !operation.gated || (operation.store == Store::replace && !operation.bias),
                   fused_name, "a gated pair neither adds nor has a bias") &&
           require(launcher, !operation.bias || operation.bias->bytes >= uint64_t{weight.rows} * 4,
                   fused_name, "bias is short") &&
           require(launcher,
                   operation.packs.columns == weight.rows &&
                       operation.packs.packed.bytes >= end * packed_row_bytes(weight.rows),
                   fused_name, "the packed form to write is missing or shorter than the rows") &&
           require(launcher,
                   (!operation.norm || norm_fits(operation.norm->squares, weight.columns)) &&
                       (!next || (norm_fits(next->squares, weight.rows) &&
                                  next->weight.bytes >= uint64_t{weight.rows} * 4)),
                   fused_name, "squares or weights of a norm are short") &&
           require(launcher, !next || next->nan_probe.nan_probes.bytes >= end * 4, fused_name,
                   "room for NaN probes is short") &&
           require(launcher, operation.counters.bytes >= fused_counter_bytes(operation.count, weight.rows),
                   fused_name, "counters are short") &&
           make_packed(launcher, fused_name,
                       {.rows = operation.input, .first = operation.first, .count = operation.count},
                       operation.norm.has_value());
}

/// The ranges of a dispatch; those that it does not use are empty.
struct Ranges {
    vk::Range up;
    vk::Range input;
    vk::Range squares;
    vk::Range output;
    vk::Range bias;
    vk::Range counters;
    vk::Range packed;
    vk::Range next_weight;
    vk::Range next_squares;
    vk::Range nan_probes;
};

Ranges ranges_of(const FusedLinear& operation) {
    const Matrix& weight = operation.weight;
    const uint32_t first = operation.first;
    const uint32_t count = operation.count;
    Ranges ranges{.up = operation.gated ? operation.gated->up.weights : vk::Range{},
                  .input = operation.input.packed_rows(first, count),
                  .squares =
                      operation.norm ? operation.norm->rows(first, count, weight.columns) : vk::Range{},
                  .output = operation.output.rows(first, count),
                  .bias = operation.bias.value_or(vk::Range{}),
                  .counters = operation.counters.part(0, fused_counter_bytes(count, weight.rows)),
                  .packed = operation.packs.packed_rows(first, count),
                  .next_weight = {},
                  .next_squares = {},
                  .nan_probes = {}};
    if (const auto& next = operation.next_norm) {
        ranges.next_weight = next->weight;
        ranges.next_squares = PendingNorm{.squares = next->squares}.rows(first, count, weight.rows);
        ranges.nan_probes =
            next->nan_probe.nan_probes.part(first * sizeof(uint32_t), count * sizeof(uint32_t));
    }
    return ranges;
}

shaders::FusedLinearArguments arguments_of(const FusedLinear& operation, const Ranges& ranges) {
    const auto address = [&](const vk::Range& range) { // never null: see sample.cpp
        return range.bytes > 0 ? range.address : ranges.output.address;
    };
    return {.weights = operation.weight.weights.address,
            .up = address(ranges.up),
            .x = ranges.input.address,
            .squares = address(ranges.squares),
            .y = ranges.output.address,
            .bias = address(ranges.bias),
            .counters = ranges.counters.address,
            .norm = address(ranges.next_weight),
            .words = ranges.packed.address,
            .floats = ranges.packed.address,
            .out_squares = address(ranges.next_squares),
            .nan_probes = address(ranges.nan_probes),
            .rows = operation.weight.rows,
            .tiles = operation.weight.columns / tile_columns,
            .count = operation.count,
            .y_stride = operation.output.stride,
            .epsilon = operation.norm ? operation.norm->epsilon : 0,
            .nan_probe = operation.next_norm ? operation.next_norm->nan_probe.nan_probe : no_nan_probe,
            .options = (operation.store == Store::add ? shaders::linear_add : 0U) |
                       (operation.norm ? shaders::linear_pending_norm : 0U) |
                       (operation.bias ? shaders::linear_bias_0 : 0U)};
}

} // namespace

uint64_t fused_counter_bytes(uint32_t rows, uint32_t columns) {
    return uint64_t{rows} * (columns / tile_columns) * sizeof(uint32_t);
}

bool can_fuse(const PlanTarget& target, const Matrix& weight) {
    const Format format = weight.layout.format;
    const shaders::Variant variant = fused_linear_variant(
        fused_linear_plan(target, format, weight.rows, weight.columns, 1, false), format);
    return weight.layout.arrangement == Arrangement::tiles && weight.further.empty() &&
           weight.rows % tile_columns == 0 && usable(variant, target.profile).has_value() &&
           !target.untrusted.contains(variant);
}

void fused_linear(const Launcher& launcher, const FusedLinear& operation) {
    const Matrix& weight = operation.weight;
    if (operation.count == 0 ||
        !require(launcher, can_fuse(launcher.target(), weight), fused_name,
                 "the matrix is not in tiles, or its rows are no multiple of 256") ||
        !fits(launcher, operation))
        return;
    const bool is_gated = operation.gated.has_value();
    const FusedLinearPlan plan = fused_linear_plan(launcher.target(), weight.layout.format, weight.rows,
                                                   weight.columns, operation.count, is_gated);
    const Ranges ranges = ranges_of(operation);
    launch(
        launcher,
        {.variant = fused_linear_variant(plan, weight.layout.format),
         .specialization = {plan.tiles.workgroup, plan.tiles.rows_each, plan.tiles.columns_each,
                            plan.tiles.parts, plan.tiles.code_bytes, is_gated ? 1U : 0U,
                            is_gated ? static_cast<uint32_t>(operation.gated->kind) : 0U,
                            operation.next_norm ? 1U : 0U, written_blocks(launcher.target())},
         .groups = folded_groups(weight.rows / plan.output_rows,
                                 divide_up(operation.count, plan.tiles.columns_each)),
         .reads = {weight.weights, ranges.up, ranges.input, ranges.squares, ranges.bias, ranges.next_weight},
         .writes = {ranges.output, ranges.packed, ranges.next_squares, ranges.nan_probes, ranges.counters},
         .subgroup = plan.tiles.subgroup,
         .tuned = TunedShape{.kernel = is_gated ? TunedKernel::gated_linear : TunedKernel::fused_linear,
                             .layout = weight.layout,
                             .rows = weight.rows,
                             .columns = weight.columns}},
        arguments_of(operation, ranges));
    launcher.note_packed(operation.packs, PackedForm::blocks, operation.first, operation.count);
}

} // namespace etna::kernels
