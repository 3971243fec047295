#include "core/kernels/linear.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

#include <utility>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::LinearArguments) == 80);
static_assert(sizeof(shaders::LinearTilesArguments) == 56);

bool fits(vk::Recorder& recorder, const Linear& operation) {
    const Matrix& weight = operation.weight;
    bool parts_fit = true;
    weight.for_each_part([&](const MatrixPart& part, uint32_t first) {
        const PackedBytes packed = packed_bytes(weight.layout, part.rows, weight.columns);
        parts_fit = parts_fit && first + part.rows <= weight.rows && part.weights.bytes >= packed.weights &&
                    part.scales.bytes >= packed.scales;
    });
    return require(recorder, weight.columns == operation.input.columns, "linear",
                   "weight and input differ in width") &&
           require(recorder, weight.rows == operation.output.columns, "linear",
                   "weight and output differ in width") &&
           require(recorder, parts_fit, "linear", "weight is shorter than its shape") &&
           require(recorder, !operation.bias || operation.bias->bytes >= uint64_t{weight.rows} * 4, "linear",
                   "bias is short");
}

void launch_planned(Library& library, vk::Recorder& recorder, const LinearPlan& plan, Layout layout,
                    const shaders::LinearArguments& arguments, std::initializer_list<vk::Range> reads,
                    std::initializer_list<vk::Range> writes) {
    const uint32_t y_groups = divide_up(arguments.count, plan.columns_each);
    const auto start = [&](std::initializer_list<uint32_t> specialization, uint32_t rows) {
        launch(library, recorder,
               {.variant = linear_variant(plan, layout),
                .specialization = specialization,
                .groups = folded_groups(divide_up(arguments.rows, rows), y_groups),
                .reads = reads,
                .writes = writes},
               arguments);
    };
    switch (plan.kernel) {
    case LinearKernel::rows:
        start({plan.reduce.workgroup, plan.reduce.one_subgroup, plan.rows_each, plan.columns_each},
              plan.rows_each);
        break;
    case LinearKernel::prompt:
        start({}, plan.rows_each);
        break;
    case LinearKernel::matrix:
        start({plan.workgroup, matrix_subgroups, plan.shape.rows, plan.shape.columns, plan.shape.depth},
              plan.rows_each);
        break;
    case LinearKernel::lanes:
        start({plan.rows_each, plan.columns_each}, plan.rows_each * 8);
        break;
    case LinearKernel::tiles: // launch_tiles()
        break;
    }
}

void launch_tiles(Library& library, vk::Recorder& recorder, const LinearPlan& plan, const Linear& operation) {
    const Matrix& weight = operation.weight;
    const vk::Range input = operation.input.halves_rows(operation.first, operation.count);
    const vk::Range output = operation.output.rows(operation.first, operation.count);
    const vk::Range bias = operation.bias.value_or(vk::Range{});
    weight.for_each_part([&](const MatrixPart& part, uint32_t first_row) {
        const shaders::LinearTilesArguments arguments{
            .weights = part.weights.address,
            .x = input.address,
            .y = output.address + uint64_t{first_row} * sizeof(float),
            .bias = bias.address + uint64_t{first_row} * sizeof(float),
            .rows = part.rows,
            .tiles = weight.columns / tile_columns,
            .count = operation.count,
            .y_stride = operation.output.stride,
            .add = operation.store == Store::add ? 1U : 0U,
            .use_bias = operation.bias ? 1U : 0U,
        };
        const bool is_first = first_row == 0; // as in linear()
        launch(library, recorder,
               {.variant = linear_variant(plan, weight.layout),
                .specialization = {plan.workgroup, plan.rows_each, plan.columns_each, plan.parts},
                .groups = folded_groups(divide_up(part.rows, plan.rows_each * repack_rows),
                                        divide_up(operation.count, plan.columns_each)),
                .reads = {part.weights, is_first ? input : vk::Range{}, is_first ? bias : vk::Range{}},
                .writes = {is_first ? output : vk::Range{}}},
               arguments);
    });
}

} // namespace

void linear(Library& library, vk::Recorder& recorder, const Linear& operation) {
    const Matrix& weight = operation.weight;
    if (operation.count == 0 || !fits(recorder, operation))
        return;
    auto planned = linear_plan(library.target(), weight.layout, weight.rows, weight.columns, operation.path,
                               operation.count, operation.factors);
    if (!planned) {
        recorder.fail(std::move(planned).error());
        return;
    }
    if (planned->kernel == LinearKernel::tiles) {
        const uint64_t end = uint64_t{operation.first} + operation.count;
        if (require(recorder, operation.input.halves.bytes >= end * halves_bytes(weight.columns), "linear",
                    "the input's halves are missing or shorter than its rows"))
            launch_tiles(library, recorder, *planned, operation);
        return;
    }
    const vk::Range input = operation.input.rows(operation.first, operation.count);
    const vk::Range output = operation.output.rows(operation.first, operation.count);
    const vk::Range bias = operation.bias.value_or(vk::Range{});
    weight.for_each_part([&](const MatrixPart& part, uint32_t first_row) {
        const shaders::LinearArguments arguments{
            .weights = part.weights.address,
            .quads = part.weights.address,
            .scales = part.scales.address,
            .x = input.address,
            .y = output.address + uint64_t{first_row} * sizeof(float),
            .bias = bias.address + uint64_t{first_row} * sizeof(float),
            .rows = part.rows,
            .columns = padded_columns(weight.columns),
            .count = operation.count,
            .x_stride = operation.input.stride / 4,
            .y_stride = operation.output.stride,
            .add = operation.store == Store::add ? 1U : 0U,
            .use_bias = operation.bias ? 1U : 0U,
        };
        // All parts are one step, because each writes different columns. The first declares the output for
        // all.
        const bool is_first = first_row == 0;
        launch_planned(
            library, recorder, *planned, weight.layout, arguments,
            {part.weights, part.scales, is_first ? input : vk::Range{}, is_first ? bias : vk::Range{}},
            {is_first ? output : vk::Range{}});
    });
}

} // namespace etna::kernels
