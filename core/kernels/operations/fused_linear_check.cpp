#include "core/kernels/operations/fused_linear.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/self_check/activation.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/packed.hpp"
#include "core/kernels/self_check/tiles.hpp"

#include <cmath>

namespace etna::kernels {
namespace {

FusedLinear fused(KernelRun& run, const NoiseMatrices& weight, uint32_t count) {
    const uint32_t rows = weight.device.rows;
    return {
        .weight = weight.device,
        .input = {},
        .output = {},
        .packs = {.range = {},
                  .columns = rows,
                  .packed = run.put(std::vector<uint32_t>(count * packed_row_bytes(rows) / 4, 0xCDCDCDCD))},
        .counters = run.put(std::vector<uint32_t>(fused_counter_bytes(count, rows) / 4)),
        .count = count};
}

void expect_idle(KernelRun& run, const FusedLinear& operation) {
    run.expect_words(operation.counters, std::vector<uint32_t>(operation.counters.bytes / 4));
}

struct FusedShape {
    uint32_t rows;
    uint32_t columns;
    uint32_t count;
};

/// silu(W x) * Up x, of rows whose norm is pending.
void make_gated_problem(KernelRun& run, Layout layout, uint32_t code_bytes, const FusedShape& shape) {
    const auto [rows, columns, count] = shape;
    Noise noise(22);
    const NoiseMatrices gate = put_weights(run, noise, {.layout = layout, .rows = rows, .columns = columns});
    const NoiseMatrices up = put_weights(run, noise, {.layout = layout, .rows = rows, .columns = columns});
    const PendingInput input = put_pending_input(run, noise, count, columns);
    FusedLinear operation = fused(run, gate, count);
    operation.gated = GatedBy{.up = up.device};
    operation.input = input.rows;
    operation.norm = input.norm;
    operation.output = run.put_unset(count, rows);
    fused_linear({run.library(), run.recorder()}, operation);

    constexpr double slope = 1.1; // at most, of silu
    std::vector<Bounded> expected;
    for (uint32_t c = 0; c < count; ++c) {
        for (uint32_t m = 0; m < rows; ++m) {
            const Bounded g = input.product(gate, m, c, code_bytes);
            const Bounded u = input.product(up, m, c, code_bytes);
            Bounded y = activated(Gate::silu, g.value, u.value);
            y.tolerance +=
                slope * g.tolerance * (std::abs(u.value) + u.tolerance) + std::abs(g.value) * u.tolerance;
            expected.push_back(y);
        }
    }
    run.expect_rows(operation.output, 0, expected);
    expect_blocks(run, operation.packs.packed, expected);
    expect_idle(run, operation);
}

/// y += W x + b, with the next norm.
void make_residual_problem(KernelRun& run, Layout layout, uint32_t code_bytes, const FusedShape& shape) {
    const auto [rows, columns, count] = shape;
    Noise noise(23);
    const NoiseMatrices weight =
        put_weights(run, noise, {.layout = layout, .rows = rows, .columns = columns});
    const std::vector<float> x = noise.numbers(uint64_t{count} * columns);
    const std::vector<float> before = noise.numbers(uint64_t{count} * rows);
    const std::vector<float> bias = noise.numbers(rows);
    const std::vector<float> next_weight = noise.numbers(rows);
    const std::vector<uint32_t> probes(count, no_nan_probe);
    FusedLinear operation = fused(run, weight, count);
    operation.input = run.put_rows(x, count, columns);
    operation.input.packed = run.put(packed_of(x));
    operation.output = run.put_rows(before, count, rows);
    operation.store = Store::add;
    operation.bias = run.put(bias);
    operation.next_norm = NextNorm{
        .weight = run.put(next_weight),
        .squares = run.put(std::vector<float>(uint64_t{count} * rows / tile_columns, KernelRun::unset)),
        .nan_probe = {.nan_probes = run.put(probes), .nan_probe = 1}};
    fused_linear({run.library(), run.recorder()}, operation);

    std::vector<Bounded> expected;
    std::vector<Bounded> scaled;
    std::vector<Bounded> squares(uint64_t{count} * rows / tile_columns);
    for (std::size_t i = 0; i < before.size(); ++i) {
        const uint32_t m = i % rows;
        const std::span<const float> column = std::span(x).subspan(i / rows * columns, columns);
        const Bounded sum = tiles_product(weight, m, column, code_bytes);
        const double more = double{bias[m]} + before[i];
        const Bounded y{sum.value + more,
                        sum.tolerance + 2 * rounding * (std::abs(sum.value) + std::abs(more) + 2)};
        const double size = std::abs(y.value) + y.tolerance;
        expected.push_back(y);
        scaled.push_back({y.value * next_weight[m], y.tolerance + rounding * size});
        squares[i / tile_columns].value += y.value * y.value;
        squares[i / tile_columns].tolerance += 2 * size * y.tolerance + tile_columns * rounding * size * size;
    }
    run.expect_rows(operation.output, 0, expected);
    expect_blocks(run, operation.packs.packed, scaled);
    run.expect_numbers(operation.next_norm->squares, squares);
    run.expect_words(operation.next_norm->nan_probe.nan_probes, probes);
    expect_idle(run, operation);
}

void make_tuned_fused_linear_problem(KernelRun& run, const TunedShape& shape) {
    const bool is_gated = shape.kernel == TunedKernel::gated_linear;
    for (const uint32_t count : {1U, 3U, 11U}) {
        const FusedLinearPlan plan = fused_linear_plan(run.library().target(), shape.layout.format,
                                                       shape.rows, shape.columns, count, is_gated);
        const FusedShape sizes{shape.rows, shape.columns, count};
        (is_gated ? make_gated_problem : make_residual_problem)(run, shape.layout, plan.tiles.code_bytes,
                                                                sizes);
    }
}

void make_fused_linear_problem(KernelRun& run, const KernelUse& use) {
    const uint32_t code_bytes = code_bytes_of(
        run, use.variant == shaders::fused_codes(static_cast<shaders::Format>(use.layout->format)));
    make_gated_problem(run, *use.layout, code_bytes, {tile_columns, 2 * tile_columns, 3});
    make_residual_problem(run, *use.layout, code_bytes, {2 * tile_columns, tile_columns, 5});
    make_residual_problem(run, *use.layout, code_bytes,
                          {tile_columns, 17 * tile_columns, 1}); // the largest workgroup
}

std::vector<KernelUse> fused_linear_uses(const PlanTarget& target) {
    std::vector<KernelUse> uses;
    for (const Layout layout : tiled_matrices(target)) {
        const FusedLinearPlan plan =
            fused_linear_plan(target, layout.format, usual_width, usual_width, 1, false);
        const shaders::Variant variant = fused_linear_variant(plan, layout.format);
        if (!target.untrusted.contains(variant))
            uses.push_back({.operation = &fused_linear_operation, .variant = variant, .layout = layout});
    }
    return uses;
}

} // namespace

const Operation fused_linear_operation{
    .name = "fused_linear",
    .weights = WeightKind::matrix,
    .uses = fused_linear_uses,
    .make_problem = make_fused_linear_problem,
    .make_tuned_problem = make_tuned_fused_linear_problem,
};

} // namespace etna::kernels
