#include "core/kernels/operations/matrix_tiles.hpp"

#include "core/kernels/operations/stack_options.hpp"
#include "core/kernels/operations/sum_parts.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::MatrixTilesArguments) == 120);

uint32_t rows_of(const LinearStack& stack) {
    uint32_t rows = 0;
    for (const StackedMatrix& one : stack.matrices)
        rows += one.weight.rows;
    return rows;
}

/// Rows [first, first + count) of the stack, into its outputs or, with several splits, into its parts.
void launch_rows(const Launcher& launcher, const LinearPlan& plan, const LinearStack& stack, Store store) {
    const bool is_split = plan.splits > 1;
    const uint32_t all_rows = rows_of(stack);
    const vk::Range input = stack.input.form_rows(PackedForm::f16, stack.first, stack.count);
    const vk::Range parts =
        stack.parts.part(0, is_split ? uint64_t{plan.splits} * stack.count * all_rows * sizeof(float) : 0);
    shaders::MatrixTilesArguments arguments{.weights = {},
                                            .y = {},
                                            .bias = {},
                                            .x = input.address,
                                            .rows = {},
                                            .y_strides = {},
                                            .tiles = stack.input.columns / tile_columns,
                                            .count = stack.count,
                                            .splits = plan.splits,
                                            .options = store == Store::add ? shaders::linear_add : 0U};
    std::array<vk::Range, stacked_matrices_max> weights;
    std::array<vk::Range, stacked_matrices_max> outputs;
    std::array<vk::Range, stacked_matrices_max> biases;
    uint32_t tiles = 0;
    uint32_t first_row = 0;
    for (std::size_t i = 0; i < stack.matrices.size(); ++i) {
        const auto& [weight, output, bias] = stack.matrices[i];
        const vk::Range rows = output.rows(stack.first, stack.count);
        weights[i] = weight.weights;
        if (!is_split) {
            outputs[i] = rows;
            biases[i] = bias.value_or(vk::Range{});
        }
        arguments.weights[i] = weight.weights.address;
        arguments.y[i] = is_split ? parts.address + uint64_t{first_row} * sizeof(float) : rows.address;
        arguments.bias[i] = bias ? bias->address : rows.address; // never null: see sample.cpp
        arguments.rows[i] = weight.rows;
        arguments.y_strides[i] = is_split ? all_rows : output.stride;
        arguments.options |= bias ? bias_options[i] : 0U;
        tiles += divide_up(weight.rows, plan.rows_each);
        first_row += weight.rows;
    }
    launch(
        launcher,
        {.variant = linear_variant(plan, stack.matrices.front().weight.layout),
         .specialization = {plan.workgroup, matrix_subgroups, plan.parts, plan.rows_each, plan.columns_each,
                            plan.shape.rows, plan.shape.columns, plan.shape.depth, plan.ahead},
         .groups = {divide_up(stack.count, plan.columns_each), tiles, plan.splits},
         .reads = {input, weights[0], weights[1], weights[2], biases[0], biases[1], biases[2]},
         .writes = {outputs[0], outputs[1], outputs[2], parts},
         .subgroup = plan.subgroup},
        arguments);
}

} // namespace

void matrix_tiles(const Launcher& launcher, const LinearPlan& plan, const LinearStack& stack, Store store) {
    if (plan.splits == 1) {
        launch_rows(launcher, plan, stack, store);
        return;
    }
    const uint64_t row_bytes = uint64_t{plan.splits} * rows_of(stack) * sizeof(float);
    if (!require(launcher, stack.parts.bytes >= std::min(stack.count, prompt_part_rows) * row_bytes, "linear",
                 "room for the parts of sums is short"))
        return;
    LinearStack some = stack;
    for (uint32_t done = 0; done < stack.count; done += some.count) {
        some.first = stack.first + done;
        some.count = std::min(stack.count - done, prompt_part_rows);
        launch_rows(launcher, plan, some, Store::replace);
        sum_parts(launcher, {.parts = stack.parts,
                             .splits = plan.splits,
                             .matrices = stack.matrices,
                             .input = stack.input,
                             .first = some.first,
                             .count = some.count,
                             .store = store});
    }
}

} // namespace etna::kernels
