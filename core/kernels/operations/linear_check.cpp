#include "core/kernels/operations/linear.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/packed.hpp"
#include "core/kernels/self_check/tiles.hpp"
#include "core/kernels/self_check/weights.hpp"

#include <algorithm>
#include <cmath>

namespace etna::kernels {
namespace {

struct LinearShape {
    uint32_t rows;
    uint32_t columns;
    uint32_t count;
    Store store;
};

/// Of a large batch, the first and the last rows are compared.
constexpr uint32_t compared_rows = 18;

/// y = W x, or y += W x + b.
void make_problem(KernelRun& run, const KernelUse& use, const LinearShape& shape) {
    Noise noise(2);
    const Layout layout = *use.layout;
    const NoiseMatrices weight =
        put_weights(run, noise, {.layout = layout, .rows = shape.rows, .columns = shape.columns});
    const std::vector<float> x = noise.numbers(uint64_t{shape.count} * shape.columns);
    const std::vector<float> before = noise.numbers(uint64_t{shape.count} * shape.rows);
    const std::vector<float> bias = noise.numbers(shape.rows);
    const bool adds = shape.store == Store::add;
    const Activations output =
        adds ? run.put_rows(before, shape.count, shape.rows) : run.put_unset(shape.count, shape.rows);
    Activations input = run.put_rows(x, shape.count, shape.columns);
    if (layout.arrangement == Arrangement::tiles)
        input.packed = run.put(packed_of(x));
    if (layout.arrangement == Arrangement::tiles && prompts_read_packed(run.library().target()))
        input.f16 = run.put(f16_rows_of(x, shape.columns));
    const uint64_t part_bytes =
        linear_part_bytes(run.library().target(), layout, shape.rows, shape.columns, *use.path, shape.count);
    Linear operation{.weight = weight.device,
                     .input = input,
                     .output = output,
                     .count = shape.count,
                     .path = *use.path,
                     .store = shape.store,
                     .factors = use.factors};
    if (part_bytes > 0)
        operation.parts = run.put(std::vector<float>(part_bytes / sizeof(float), KernelRun::unset));
    if (adds)
        operation.bias = run.put(bias);
    linear({run.library(), run.recorder()}, operation);

    const auto format = static_cast<shaders::Format>(layout.format);
    const bool to_half =
        use.variant == shaders::linear_matrix(format) || use.variant == shaders::matrix_tiles(format);
    const uint32_t code_bytes = code_bytes_of(run, use.variant == shaders::linear_codes(format));
    const bool from_tiles = code_bytes > 0 || use.variant == shaders::linear_tiles(format);
    for (uint32_t c = 0; c < shape.count; ++c) {
        if (c >= compared_rows && shape.count - c > compared_rows)
            continue;
        const std::span<const float> column =
            std::span(x).subspan(std::size_t{c} * shape.columns, shape.columns);
        std::vector<Bounded> expected;
        for (uint32_t m = 0; m < shape.rows; ++m) {
            Bounded y =
                from_tiles ? tiles_product(weight, m, column, code_bytes) : product(weight, m, column);
            if (to_half)
                y.tolerance += half_error(weight, m, column);
            if (adds) {
                const double more = double{bias[m]} + before[std::size_t{c} * shape.rows + m];
                y = {y.value + more, y.tolerance + 2 * rounding * (std::abs(y.value) + std::abs(more) + 2)};
            }
            expected.push_back(y);
        }
        run.expect_rows(output, c, expected);
    }
}

/// Two matrices over rows whose norm is pending.
void make_stack_problem(KernelRun& run, Layout layout, uint32_t code_bytes) {
    constexpr uint32_t columns = 2 * tile_columns;
    constexpr uint32_t count = 3;
    Noise noise(21);
    const PendingInput input = put_pending_input(run, noise, count, columns);
    std::vector<StackedMatrix> matrices;
    for (const uint32_t rows : {40U, 19U}) {
        const NoiseMatrices weight =
            put_weights(run, noise, {.layout = layout, .rows = rows, .columns = columns});
        const std::vector<float> bias = noise.numbers(rows);
        const Activations output = run.put_unset(count, rows);
        matrices.push_back({.weight = weight.device, .output = output, .bias = run.put(bias)});
        std::vector<Bounded> expected;
        for (uint32_t c = 0; c < count; ++c) {
            for (uint32_t m = 0; m < rows; ++m) {
                Bounded y = input.product(weight, m, c, code_bytes);
                y.value += bias[m];
                y.tolerance += 2 * rounding * (std::abs(y.value) + 1);
                expected.push_back(y);
            }
        }
        run.expect_rows(output, 0, expected);
    }
    linear_stack({run.library(), run.recorder()},
                 {.matrices = matrices, .input = input.rows, .count = count, .norm = input.norm});
}

void make_tuned_linear_problem(KernelRun& run, const TunedShape& shape) {
    const Layout layout = shape.layout;
    for (const uint32_t count : {1U, 3U, 11U}) {
        KernelUse use{.operation = &linear_operation, .layout = layout, .path = RowPath::decode};
        const auto plan =
            linear_plan(run.library().target(), layout, shape.rows, shape.columns, RowPath::decode, count);
        if (!plan) {
            run.fail(plan.error());
            return;
        }
        use.variant = linear_variant(*plan, layout);
        make_problem(run, use, {shape.rows, shape.columns, count, Store::add});
    }
}

void make_linear_problem(KernelRun& run, const KernelUse& use) {
    constexpr uint32_t few_rows = 67;
    constexpr uint32_t many_rows = 2051;
    const PlanTarget& target = run.library().target();
    const Layout layout = *use.layout;
    // A tile of columns and some; elsewhere as many as one workgroup takes, and some.
    const uint32_t several = *use.path == RowPath::prefill ? 35 : 11;
    make_problem(run, use, {few_rows, fitting_columns(layout, 288), 1, Store::add});
    if (layout.arrangement == Arrangement::tiles && *use.path == RowPath::decode) // the largest workgroup
        make_problem(run, use, {few_rows, 17 * tile_columns, 1, Store::replace});
    const auto format = static_cast<shaders::Format>(layout.format);
    if (use.variant == shaders::matrix_tiles(format)) { // the largest tile of sums; sums that are split
        make_problem(run, use, {many_rows, tile_columns, 900, Store::replace});
        make_problem(run, use, {few_rows, 9 * tile_columns, 35, Store::add});
    }
    const uint32_t code_bytes = code_bytes_of(run, use.variant == shaders::linear_codes(format));
    if (code_bytes > 0 || use.variant == shaders::linear_tiles(format))
        make_stack_problem(run, layout, code_bytes);
    // If larger matrices use another pipeline, check that one.
    const uint32_t columns = fitting_columns(layout, 96);
    const auto few = linear_plan(target, layout, few_rows, columns, *use.path, several, use.factors);
    const auto many = linear_plan(target, layout, many_rows, columns, *use.path, several, use.factors);
    const bool differ = few && many && *few != *many;
    make_problem(run, use, {differ ? many_rows : few_rows, columns, several, Store::replace});
}

/// The use of a layout on a path, if a kernel can run.
std::optional<KernelUse> use_of(const PlanTarget& target, Layout layout, RowPath path,
                                OperandPrecision factors) {
    const auto plan = linear_plan(target, layout, usual_width, usual_width, path, 1, factors);
    if (!plan)
        return std::nullopt;
    return KernelUse{.operation = &linear_operation,
                     .variant = linear_variant(*plan, layout),
                     .layout = layout,
                     .path = path,
                     .factors = factors};
}

std::vector<KernelUse> linear_uses(const PlanTarget& target) {
    std::vector<KernelUse> uses;
    for (const Layout layout : matrix_layouts(target)) {
        for (const RowPath path : {RowPath::decode, RowPath::prefill}) {
            if (const auto use = use_of(target, layout, path, OperandPrecision::f16_allowed))
                uses.push_back(*use);
        }
        if (layout.arrangement == Arrangement::tiles)
            continue;
        const auto router = use_of(target, layout, RowPath::prefill, OperandPrecision::f32);
        if (router && (uses.empty() || router->variant != uses.back().variant))
            uses.push_back(*router);
    }
    return uses;
}

} // namespace

const Operation linear_operation{
    .name = "linear",
    .weights = WeightKind::matrix,
    .uses = linear_uses,
    .make_problem = make_linear_problem,
    .make_tuned_problem = make_tuned_linear_problem,
};

} // namespace etna::kernels
