#include "core/kernels/operations/linear.hpp"

#include "core/kernels/operations/matrix_tiles.hpp"
#include "core/kernels/operations/pack.hpp"
#include "core/kernels/operations/stack_options.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::LinearArguments) == 80);
static_assert(sizeof(shaders::LinearTilesArguments) == 128);

bool fits(const Launcher& launcher, const Linear& operation) {
    const Matrix& weight = operation.weight;
    bool parts_fit = true;
    weight.for_each_part([&](const MatrixPart& part, uint32_t first) {
        const PackedBytes packed = packed_bytes(weight.layout, part.rows, weight.columns);
        parts_fit = parts_fit && first + part.rows <= weight.rows && part.weights.bytes >= packed.weights &&
                    part.scales.bytes >= packed.scales;
    });
    return require(launcher, weight.columns == operation.input.columns, "linear",
                   "weight and input differ in width") &&
           require(launcher, weight.rows == operation.output.columns, "linear",
                   "weight and output differ in width") &&
           require(launcher, parts_fit, "linear", "weight is shorter than its shape") &&
           require(launcher, !operation.bias || operation.bias->bytes >= uint64_t{weight.rows} * 4, "linear",
                   "bias is short");
}

/// The shape whose sizes can be measured: of decode rows of matrices in one part, and in lanes of all rows.
std::optional<TunedShape> tuned_shape(const Linear& operation, LinearKernel kernel) {
    const Matrix& weight = operation.weight;
    const bool is_measured =
        kernel == LinearKernel::lanes || (operation.path == RowPath::decode &&
                                          (kernel == LinearKernel::rows || kernel == LinearKernel::tiles));
    if (!is_measured || !weight.further.empty())
        return std::nullopt;
    return TunedShape{.kernel = TunedKernel::linear,
                      .layout = weight.layout,
                      .rows = weight.rows,
                      .columns = weight.columns};
}

void launch_planned(const Launcher& launcher, const LinearPlan& plan, Layout layout,
                    const shaders::LinearArguments& arguments, std::initializer_list<vk::Range> reads,
                    std::initializer_list<vk::Range> writes, const std::optional<TunedShape>& tuned) {
    const uint32_t y_groups = divide_up(arguments.count, plan.columns_each);
    const auto start = [&](std::initializer_list<uint32_t> specialization, uint32_t rows) {
        launch(launcher,
               {.variant = linear_variant(plan, layout),
                .specialization = specialization,
                .groups = folded_groups(divide_up(arguments.rows, rows), y_groups),
                .reads = reads,
                .writes = writes,
                .subgroup = plan.subgroup,
                .tuned = tuned},
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
    case LinearKernel::matrix_tiles: // matrix_tiles()
    case LinearKernel::tiles:        // linear_tiles()
        break;
    }
}

/// The form of its input that a kernel reads; empty: its elements.
std::optional<PackedForm> form_of(LinearKernel kernel) {
    if (kernel == LinearKernel::tiles)
        return PackedForm::blocks;
    return kernel == LinearKernel::matrix_tiles ? std::optional(PackedForm::f16) : std::nullopt;
}

/// Packs what is not packed; whether that is possible, and the squares of a pending norm are there.
bool prepare_input(const Launcher& launcher, const Pack& input, const std::optional<PendingNorm>& norm) {
    const uint64_t end = uint64_t{input.first} + input.count;
    return make_packed(launcher, "linear", input, norm.has_value()) &&
           require(launcher,
                   !norm || norm->squares.bytes >= end * (input.rows.columns / tile_columns) * sizeof(float),
                   "linear", "the squares of the pending norm are shorter than the rows");
}

/// Records a stack of matrices, each in one part. Of a matrix in several parts, all of which are one step,
/// the first part declares the output for all.
void launch_tiles(const Launcher& launcher, const LinearPlan& plan, const LinearStack& operation, Store store,
                  bool declares_outputs, const std::optional<TunedShape>& tuned) {
    const Layout layout = operation.matrices.front().weight.layout;
    const uint32_t columns = operation.input.columns;
    const vk::Range input = operation.input.packed_rows(operation.first, operation.count);
    const vk::Range squares =
        operation.norm ? operation.norm->rows(operation.first, operation.count, columns) : vk::Range{};
    shaders::LinearTilesArguments arguments{
        .weights = {},
        .y = {},
        .bias = {},
        .x = input.address,
        .squares = operation.norm ? squares.address : input.address, // never null: see sample.cpp
        .rows = {},
        .y_strides = {},
        .tiles = columns / tile_columns,
        .count = operation.count,
        .epsilon = operation.norm ? operation.norm->epsilon : 0,
        .options = (store == Store::add ? shaders::linear_add : 0U) |
                   (operation.norm ? shaders::linear_pending_norm : 0U),
    };
    std::array<vk::Range, stacked_matrices_max> weights;
    std::array<vk::Range, stacked_matrices_max> outputs;
    std::array<vk::Range, stacked_matrices_max> biases;
    const uint32_t workgroup_rows = plan.rows_each * repack_rows;
    uint32_t workgroups = 0;
    for (std::size_t i = 0; i < operation.matrices.size(); ++i) {
        const auto& [weight, output, bias] = operation.matrices[i];
        weights[i] = weight.weights;
        const vk::Range rows = output.rows(operation.first, operation.count);
        if (declares_outputs) {
            outputs[i] = rows;
            biases[i] = bias.value_or(vk::Range{});
        }
        arguments.weights[i] = weight.weights.address;
        arguments.y[i] = rows.address;
        arguments.bias[i] = bias ? bias->address : rows.address; // never null: see sample.cpp
        arguments.rows[i] = weight.rows;
        arguments.y_strides[i] = output.stride;
        arguments.options |= bias ? bias_options[i] : 0U;
        workgroups += divide_up(weight.rows, workgroup_rows);
    }
    launch(
        launcher,
        {.variant = linear_variant(plan, layout),
         .specialization = {plan.workgroup, plan.rows_each, plan.columns_each, plan.parts, plan.code_bytes},
         .groups = folded_groups(workgroups, divide_up(operation.count, plan.columns_each)),
         .reads = {input, squares, weights[0], weights[1], weights[2], biases[0], biases[1], biases[2]},
         .writes = {outputs[0], outputs[1], outputs[2]},
         .subgroup = plan.subgroup,
         .tuned = tuned},
        arguments);
}

/// A matrix as a view of one of its parts: columns [first, first + part.rows) of output and bias.
StackedMatrix part_of(const Linear& operation, const MatrixPart& part, uint32_t first) {
    StackedMatrix one{.weight = operation.weight, .output = operation.output, .bias = operation.bias};
    one.weight.rows = part.rows;
    one.weight.weights = part.weights;
    one.weight.further = {};
    const uint64_t skipped = uint64_t{first} * sizeof(float);
    one.output.range.address += skipped;
    if (one.bias)
        one.bias->address += skipped;
    return one;
}

/// A matrix in tiles.
void linear_tiles(const Launcher& launcher, const LinearPlan& plan, const Linear& operation) {
    const Pack input{.rows = operation.input,
                     .form = *form_of(plan.kernel),
                     .first = operation.first,
                     .count = operation.count};
    if (!prepare_input(launcher, input, operation.norm))
        return;
    operation.weight.for_each_part([&](const MatrixPart& part, uint32_t first) {
        const StackedMatrix one = part_of(operation, part, first);
        const LinearStack stack{.matrices = std::span(&one, 1),
                                .input = operation.input,
                                .first = operation.first,
                                .count = operation.count,
                                .norm = operation.norm,
                                .path = operation.path,
                                .parts = operation.parts};
        if (plan.kernel == LinearKernel::matrix_tiles)
            matrix_tiles(launcher, plan, stack, operation.store);
        else
            launch_tiles(launcher, plan, stack, operation.store, first == 0,
                         tuned_shape(operation, plan.kernel));
    });
}

} // namespace

void linear(const Launcher& launcher, const Linear& operation) {
    const Matrix& weight = operation.weight;
    if (operation.count == 0 || !fits(launcher, operation))
        return;
    auto planned = linear_plan(launcher.target(), weight.layout, weight.rows, weight.columns, operation.path,
                               operation.count, operation.factors);
    if (!planned) {
        launcher.fail(std::move(planned).error());
        return;
    }
    if (!require(launcher, !operation.norm || planned->kernel == LinearKernel::tiles, "linear",
                 "only decode rows of matrices in tiles apply a pending norm"))
        return;
    if (form_of(planned->kernel)) {
        linear_tiles(launcher, *planned, operation);
        return;
    }
    const vk::Range input = operation.input.rows(operation.first, operation.count);
    const vk::Range output = operation.output.rows(operation.first, operation.count);
    const vk::Range bias = operation.bias.value_or(vk::Range{});
    const std::optional<TunedShape> tuned = tuned_shape(operation, planned->kernel);
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
            launcher, *planned, weight.layout, arguments,
            {part.weights, part.scales, is_first ? input : vk::Range{}, is_first ? bias : vk::Range{}},
            {is_first ? output : vk::Range{}}, tuned);
    });
}

void pack_input(const Launcher& launcher, const Linear& operation) {
    const Matrix& weight = operation.weight;
    const auto planned = linear_plan(launcher.target(), weight.layout, weight.rows, weight.columns,
                                     operation.path, operation.count, operation.factors);
    const auto form = planned ? form_of(planned->kernel) : std::nullopt;
    if (form && operation.count > 0)
        make_packed(
            launcher, "linear",
            {.rows = operation.input, .form = *form, .first = operation.first, .count = operation.count},
            operation.norm.has_value());
}

uint64_t linear_part_bytes(const PlanTarget& target, Layout layout, uint32_t weight_rows, uint32_t columns,
                           RowPath path, uint32_t count) {
    const auto plan = linear_plan(target, layout, weight_rows, columns, path, count);
    if (!plan || plan->splits == 1)
        return 0;
    return uint64_t{plan->splits} * std::min(count, prompt_part_rows) * weight_rows * sizeof(float);
}

void linear_stack(const Launcher& launcher, const LinearStack& operation) {
    const std::span<const StackedMatrix> matrices = operation.matrices;
    if (operation.count == 0 ||
        !require(launcher, !matrices.empty() && matrices.size() <= stacked_matrices_max, "linear_stack",
                 "one to three matrices can be stacked"))
        return;
    const Layout layout = matrices.front().weight.layout;
    uint32_t rows = 0;
    for (const auto& [weight, output, bias] : matrices) {
        rows += weight.rows;
        if (!require(launcher, weight.layout == layout && weight.further.empty(), "linear_stack",
                     "the matrices differ in layout, or have several parts") ||
            !fits(launcher,
                  Linear{.weight = weight, .input = operation.input, .output = output, .bias = bias}))
            return;
    }
    auto plan = linear_plan(launcher.target(), layout, rows, operation.input.columns, operation.path,
                            operation.count);
    if (!plan) {
        launcher.fail(std::move(plan).error());
        return;
    }
    const auto form = form_of(plan->kernel);
    if (!require(launcher, form.has_value() && (!operation.norm || form == PackedForm::blocks),
                 "linear_stack", "the matrices are not in tiles, or prefill rows have a pending norm") ||
        !prepare_input(
            launcher,
            {.rows = operation.input, .form = *form, .first = operation.first, .count = operation.count},
            operation.norm))
        return;
    if (form == PackedForm::f16) {
        matrix_tiles(launcher, *plan, operation, Store::replace);
        return;
    }
    launch_tiles(launcher, *plan, operation, Store::replace, true,
                 TunedShape{.kernel = TunedKernel::linear,
                            .layout = layout,
                            .rows = rows,
                            .columns = operation.input.columns});
}

} // namespace etna::kernels
