#include "core/kernels/operations/linear.hpp"

#include "core/kernels/operations/pack.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

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
    case LinearKernel::matrix_tiles:
        start({plan.workgroup, matrix_subgroups, plan.parts, plan.rows_each, plan.columns_each,
               plan.shape.rows, plan.shape.columns, plan.shape.depth},
              plan.rows_each);
        break;
    case LinearKernel::lanes:
        start({plan.rows_each, plan.columns_each}, plan.rows_each * 8);
        break;
    case LinearKernel::tiles: // linear_tiles()
        break;
    }
}

/// Option bits of the biases of a stack, by matrix.
constexpr std::array<uint32_t, stacked_matrices_max> bias_options{
    shaders::linear_bias_0, shaders::linear_bias_1, shaders::linear_bias_2};

bool reads_packed(LinearKernel kernel) {
    return kernel == LinearKernel::tiles || kernel == LinearKernel::matrix_tiles;
}

/// Packs what is not packed of rows [first, first + count); whether that is possible, and their squares are
/// there.
bool prepare_input(const Launcher& launcher, const Activations& input, uint32_t first, uint32_t count,
                   const std::optional<PendingNorm>& norm) {
    const uint64_t end = uint64_t{first} + count;
    return make_packed(launcher, "linear", {.rows = input, .first = first, .count = count},
                       norm.has_value()) &&
           require(launcher,
                   !norm || norm->squares.bytes >= end * (input.columns / tile_columns) * sizeof(float),
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

/// Decode rows of a matrix in tiles.
void linear_tiles(const Launcher& launcher, const LinearPlan& plan, const Linear& operation) {
    if (!prepare_input(launcher, operation.input, operation.first, operation.count, operation.norm))
        return;
    operation.weight.for_each_part([&](const MatrixPart& part, uint32_t first) {
        const StackedMatrix one = part_of(operation, part, first);
        launch_tiles(launcher, plan,
                     {.matrices = std::span(&one, 1),
                      .input = operation.input,
                      .first = operation.first,
                      .count = operation.count,
                      .norm = operation.norm},
                     operation.store, first == 0, tuned_shape(operation, plan.kernel));
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
    if (planned->kernel == LinearKernel::tiles) {
        linear_tiles(launcher, *planned, operation);
        return;
    }
    if (!require(launcher, !operation.norm, "linear", "only matrices in tiles apply a pending norm"))
        return;
    const bool is_packed = reads_packed(planned->kernel);
    if (is_packed && !prepare_input(launcher, operation.input, operation.first, operation.count, {}))
        return;
    const vk::Range input = is_packed ? operation.input.packed_rows(operation.first, operation.count)
                                      : operation.input.rows(operation.first, operation.count);
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
    if (operation.count > 0 && planned && reads_packed(planned->kernel))
        static_cast<void>(
            prepare_input(launcher, operation.input, operation.first, operation.count, operation.norm));
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
    auto plan = linear_plan(launcher.target(), layout, rows, operation.input.columns, RowPath::decode,
                            operation.count);
    if (!plan) {
        launcher.fail(std::move(plan).error());
        return;
    }
    if (require(launcher, plan->kernel == LinearKernel::tiles, "linear_stack",
                "the matrices are not in tiles") &&
        prepare_input(launcher, operation.input, operation.first, operation.count, operation.norm))
        launch_tiles(launcher, *plan, operation, Store::replace, true,
                     TunedShape{.kernel = TunedKernel::linear,
                                .layout = layout,
                                .rows = rows,
                                .columns = operation.input.columns});
}

} // namespace etna::kernels
