#include "core/kernels/linear.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

#include <utility>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::LinearArguments) == 80);

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

void launch_planned(Library& library, vk::Recorder& recorder, const LinearPlan& plan, Format format,
                    const shaders::LinearArguments& arguments, std::initializer_list<vk::Range> reads,
                    std::initializer_list<vk::Range> writes) {
    const uint32_t y_groups = divide_up(arguments.count, plan.columns_each);
    const auto start = [&](std::initializer_list<uint32_t> specialization, uint32_t rows) {
        launch(library, recorder,
               {.variant = linear_variant(plan, format),
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
    case LinearKernel::tile:
        start({}, plan.rows_each);
        break;
    case LinearKernel::matrix:
        start({plan.workgroup, matrix_subgroups, plan.shape.rows, plan.shape.columns, plan.shape.depth},
              plan.rows_each);
        break;
    case LinearKernel::lanes:
        start({plan.rows_each, plan.columns_each}, plan.rows_each * 8);
        break;
    }
}

} // namespace

void linear(Library& library, vk::Recorder& recorder, const Linear& operation) {
    const Matrix& weight = operation.weight;
    if (operation.count == 0 || !fits(recorder, operation))
        return;
    auto planned = linear_plan(library.target(), weight.layout, weight.rows, operation.path, operation.count,
                               operation.factors);
    if (!planned) {
        recorder.fail(std::move(planned).error());
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
            library, recorder, *planned, weight.layout.format, arguments,
            {part.weights, part.scales, is_first ? input : vk::Range{}, is_first ? bias : vk::Range{}},
            {is_first ? output : vk::Range{}});
    });
}

} // namespace etna::kernels
