#include "core/kernels/operations/stack_product.hpp"

#include "core/base/bytes.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/experts/arguments.h"

namespace etna::kernels {
namespace {

constexpr uint32_t weight_rows_each = 2;   ///< of one workgroup, rows arrangement
constexpr uint32_t weight_groups_each = 2; ///< groups of 8 rows of one workgroup, lanes arrangement

shaders::ExpertLinearArguments arguments_of(const StackProduct& product) {
    const Matrix& one = product.weights.matrices;
    return {
        .weights = one.weights.address,
        .quads = one.weights.address,
        .scales = one.scales.address,
        .x = product.input.address,
        .y = product.output.address,
        .groups = product.groups.value_or(product.input).address, // never null: see sample.cpp
        .rows = one.rows,
        .padded_rows = static_cast<uint32_t>(round_up(one.rows, repack_rows)),
        .columns = padded_columns(one.columns),
        .expert_count = product.weights.count,
        .pairs = product.pairs,
        .pairs_each = product.pairs_each,
        .tiles = product.groups ? product.pairs : 0,
        .x_stride = product.input_stride / 4,
        .y_stride = product.output_stride,
        .unused = 0,
    };
}

} // namespace

void launch_stack_product(const Launcher& launcher, const StackProduct& product) {
    const Matrix& one = product.weights.matrices;
    const auto start = [&](shaders::Variant variant, std::initializer_list<uint32_t> specialization,
                           uint32_t rows_each) {
        launch(launcher,
               {.variant = variant,
                .specialization = specialization,
                .groups = folded_groups(divide_up(one.rows, rows_each), product.tiles),
                .reads = {one.weights, one.scales, product.input, product.groups.value_or(vk::Range{})},
                .writes = {product.output}},
               arguments_of(product));
    };
    const auto format = static_cast<shaders::Format>(one.layout.format);
    const uint32_t by_head = product.groups ? 0 : 1;
    if (one.layout.arrangement == Arrangement::lanes) {
        start(shaders::expert_lanes(format), {weight_groups_each, product.tile_pairs, by_head},
              weight_groups_each * repack_rows);
        return;
    }
    const ReducePlan plan =
        reduce_plan(launcher.target(), shaders::expert_rows(format, shaders::Reduce::subgroup));
    start(shaders::expert_rows(format, plan.reduce),
          {plan.workgroup, plan.one_subgroup, weight_rows_each, product.tile_pairs, by_head},
          weight_rows_each);
}

} // namespace etna::kernels
