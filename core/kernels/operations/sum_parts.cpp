#include "core/kernels/operations/sum_parts.hpp"

#include "core/kernels/operations/stack_options.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

#include <array>
#include <cstddef>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::SumPartsArguments) == 104);

} // namespace

void sum_parts(const Launcher& launcher, const SumParts& operation) {
    const auto& [parts, splits, matrices, input, first, count, store] = operation;
    uint32_t all_rows = 0;
    for (const StackedMatrix& one : matrices)
        all_rows += one.weight.rows;
    if (count == 0 ||
        !require(launcher, matrices.size() <= stacked_matrices_max, "sum_parts", "too many matrices") ||
        !require(launcher, parts.bytes >= uint64_t{splits} * count * all_rows * sizeof(float), "sum_parts",
                 "the parts are shorter than their shape") ||
        !require(launcher, input.has_form(PackedForm::f16, uint64_t{first} + count), "sum_parts",
                 "the input has no factors"))
        return;
    const vk::Range x = input.form_rows(PackedForm::f16, first, count);
    shaders::SumPartsArguments arguments{.parts = parts.address,
                                         .x = x.address,
                                         .y = {},
                                         .bias = {},
                                         .rows = {},
                                         .y_strides = {},
                                         .columns = input.columns,
                                         .count = count,
                                         .splits = splits,
                                         .options = store == Store::add ? shaders::linear_add : 0U};
    std::array<vk::Range, stacked_matrices_max> outputs;
    std::array<vk::Range, stacked_matrices_max> biases;
    for (std::size_t i = 0; i < matrices.size(); ++i) {
        const auto& [weight, output, bias] = matrices[i];
        outputs[i] = output.rows(first, count);
        biases[i] = bias.value_or(vk::Range{});
        arguments.y[i] = outputs[i].address;
        arguments.bias[i] = bias ? bias->address : outputs[i].address; // never null: see sample.cpp
        arguments.rows[i] = weight.rows;
        arguments.y_strides[i] = output.stride;
        arguments.options |= bias ? bias_options[i] : 0U;
    }
    constexpr uint32_t invocations = 128;
    launch(launcher,
           {.variant = shaders::sum_parts(),
            .specialization = {},
            .groups = {divide_up(all_rows, invocations), count, 1},
            .reads = {parts, x, biases[0], biases[1], biases[2]},
            .writes = {outputs[0], outputs[1], outputs[2]}},
           arguments);
}

} // namespace etna::kernels
