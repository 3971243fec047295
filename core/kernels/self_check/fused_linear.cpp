#include "core/kernels/operations/fused_linear.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/self_check/activation.hpp"
#include "core/kernels/self_check/halves.hpp"
#include "core/kernels/self_check/problems.hpp"
#include "core/kernels/self_check/tiles.hpp"

#include <cmath>

namespace etna::kernels {
namespace {

FusedLinear fused(Trial& trial, const NoiseMatrices& weight, uint32_t count) {
    const uint32_t rows = weight.device.rows;
    return {.weight = weight.device,
            .input = {},
            .output = {},
            .halves = trial.put(std::vector<uint32_t>(count * halves_bytes(rows) / 4, 0xCDCDCDCD)),
            .counters = trial.put(std::vector<uint32_t>(fused_counter_bytes(count, rows) / 4)),
            .count = count};
}

void expect_idle(Trial& trial, const FusedLinear& operation) {
    trial.expect_words(operation.counters, std::vector<uint32_t>(operation.counters.bytes / 4));
}

struct FusedShape {
    uint32_t rows;
    uint32_t columns;
    uint32_t count;
};

/// silu(W x) * Up x, of rows whose norm is pending.
void pose_gated(Trial& trial, Layout layout, uint32_t code_bytes, const FusedShape& shape) {
    const auto [rows, columns, count] = shape;
    Noise noise(22);
    const NoiseMatrices gate =
        put_weights(trial, noise, {.layout = layout, .rows = rows, .columns = columns});
    const NoiseMatrices up = put_weights(trial, noise, {.layout = layout, .rows = rows, .columns = columns});
    const PendingInput input = put_pending_input(trial, noise, count, columns);
    FusedLinear operation = fused(trial, gate, count);
    operation.gated = GatedBy{.up = up.device};
    operation.input = input.rows;
    operation.norm = input.norm;
    operation.output = trial.put_unset(count, rows);
    fused_linear({trial.library(), trial.recorder()}, operation);

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
    trial.expect_rows(operation.output, 0, expected);
    expect_blocks(trial, operation.halves, expected);
    expect_idle(trial, operation);
}

/// y += W x + b, with the next norm.
void pose_residual(Trial& trial, Layout layout, uint32_t code_bytes, const FusedShape& shape) {
    const auto [rows, columns, count] = shape;
    Noise noise(23);
    const NoiseMatrices weight =
        put_weights(trial, noise, {.layout = layout, .rows = rows, .columns = columns});
    const std::vector<float> x = noise.numbers(uint64_t{count} * columns);
    const std::vector<float> before = noise.numbers(uint64_t{count} * rows);
    const std::vector<float> bias = noise.numbers(rows);
    const std::vector<float> next_weight = noise.numbers(rows);
    const std::vector<uint32_t> probes(count, no_nan_probe);
    FusedLinear operation = fused(trial, weight, count);
    operation.input = trial.put_rows(x, count, columns);
    operation.input.halves = trial.put(halves_of(x));
    operation.output = trial.put_rows(before, count, rows);
    operation.store = Store::add;
    operation.bias = trial.put(bias);
    operation.next_norm = NextNorm{
        .weight = trial.put(next_weight),
        .squares = trial.put(std::vector<float>(uint64_t{count} * rows / tile_columns, Trial::unset)),
        .nan_probe = {.nan_probes = trial.put(probes), .nan_probe = 1}};
    fused_linear({trial.library(), trial.recorder()}, operation);

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
    trial.expect_rows(operation.output, 0, expected);
    expect_blocks(trial, operation.halves, scaled);
    trial.expect_numbers(operation.next_norm->squares, squares);
    trial.expect_words(operation.next_norm->nan_probe.nan_probes, probes);
    expect_idle(trial, operation);
}

} // namespace

void pose_fused_linear_of(Trial& trial, const TunedShape& shape, uint32_t count) {
    const bool is_gated = shape.kernel == TunedKernel::gated_linear;
    const FusedLinearPlan plan = fused_linear_plan(trial.library().target(), shape.layout.format, shape.rows,
                                                   shape.columns, count, is_gated);
    const FusedShape sizes{shape.rows, shape.columns, count};
    (is_gated ? pose_gated : pose_residual)(trial, shape.layout, plan.tiles.code_bytes, sizes);
}

void pose_fused_linear(Trial& trial, const KernelUse& use) {
    const uint32_t code_bytes = code_bytes_of(
        trial, use.variant == shaders::fused_codes(static_cast<shaders::Format>(use.layout.format)));
    pose_gated(trial, use.layout, code_bytes, {tile_columns, 2 * tile_columns, 3});
    pose_residual(trial, use.layout, code_bytes, {2 * tile_columns, tile_columns, 5});
    pose_residual(trial, use.layout, code_bytes,
                  {tile_columns, 17 * tile_columns, 1}); // the largest workgroup
}

} // namespace etna::kernels
