#include "core/kernels/operations.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

#include <utility>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::LinearArguments) == 80);

bool fits(vk::Recorder& recorder, const Linear& operation) {
    const Matrix& weight = operation.weight;
    const PackedBytes packed = packed_bytes(weight.layout, weight.rows, weight.columns);
    return require(recorder, weight.columns == operation.input.columns, "linear",
                   "weight and input differ in width") &&
           require(recorder, weight.rows == operation.output.columns, "linear",
                   "weight and output differ in width") &&
           require(recorder, weight.weights.bytes >= packed.weights && weight.scales.bytes >= packed.scales,
                   "linear", "weight is shorter than its shape") &&
           require(recorder, !operation.bias || operation.bias->bytes >= uint64_t{weight.rows} * 4, "linear",
                   "bias is short");
}

} // namespace

void linear(Library& library, vk::Recorder& recorder, const Linear& operation) {
    const Matrix& weight = operation.weight;
    if (operation.count == 0 || !fits(recorder, operation))
        return;
    auto planned = linear_plan(library.target(), weight.layout, weight.rows, operation.path, operation.count);
    if (!planned) {
        recorder.fail(std::move(planned).error());
        return;
    }
    const LinearPlan& plan = *planned;
    const vk::Range input = operation.input.rows(operation.first, operation.count);
    const vk::Range output = operation.output.rows(operation.first, operation.count);
    const vk::Range bias = operation.bias.value_or(vk::Range{});
    const shaders::LinearArguments arguments{
        .weights = weight.weights.address,
        .quads = weight.weights.address,
        .scales = weight.scales.address,
        .x = input.address,
        .y = output.address,
        .bias = bias.address,
        .rows = weight.rows,
        .columns = padded_columns(weight.columns),
        .count = operation.count,
        .x_stride = operation.input.stride / 4,
        .y_stride = operation.output.stride,
        .add = operation.store == Store::add ? 1U : 0U,
        .use_bias = operation.bias ? 1U : 0U,
    };
    const uint32_t y_groups = divide_up(operation.count, plan.columns_each);
    const auto format = static_cast<shaders::Format>(weight.layout.format);
    const auto start = [&](shaders::Variant variant, std::initializer_list<uint32_t> specialization,
                           uint32_t rows) {
        launch(library, recorder,
               {.variant = variant,
                .specialization = specialization,
                .groups = folded_groups(divide_up(weight.rows, rows), y_groups),
                .reads = {weight.weights, weight.scales, input, bias},
                .writes = {output}},
               arguments);
    };
    switch (plan.kernel) {
    case LinearKernel::rows:
        start(shaders::linear_rows(format, plan.reduce.reduce),
              {plan.reduce.workgroup, plan.reduce.one_subgroup, plan.rows_each, plan.columns_each},
              plan.rows_each);
        break;
    case LinearKernel::tile:
        start(shaders::linear_tile(format), {}, plan.rows_each);
        break;
    case LinearKernel::lanes:
        start(shaders::linear_lanes(format), {plan.rows_each, plan.columns_each}, plan.rows_each * 8);
        break;
    }
}

} // namespace etna::kernels
