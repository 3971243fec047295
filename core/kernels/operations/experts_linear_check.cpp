#include "core/kernels/operations/experts.hpp"
#include "core/kernels/operations/heads_product.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/activation.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/mixture.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/packed.hpp"
#include "core/kernels/self_check/tiles.hpp"
#include "core/kernels/self_check/weights.hpp"

#include <algorithm>
#include <cmath>

namespace etna::kernels {
namespace {

ExpertGroups put_groups(KernelRun& run, const std::vector<uint32_t>& chosen, Arrangement arrangement) {
    const auto pairs = static_cast<uint32_t>(chosen.size());
    const uint32_t tile_pairs = expert_tile_pairs(pairs, mixture_experts, arrangement);
    return {.range = run.put(groups_of(chosen, tile_pairs)), .tile_pairs = tile_pairs};
}

/// Rows on the device, packed if a layout reads them.
Activations put_input(KernelRun& run, const std::vector<float>& x, uint32_t rows, uint32_t columns,
                      Layout layout) {
    Activations input = run.put_rows(x, rows, columns);
    if (layout.arrangement == Arrangement::tiles)
        input.packed = run.put(packed_of(x));
    return input;
}

/// Row `row` of an expert's matrix times a row of x, as kernels of a layout compute it.
Bounded expert_product(const NoiseMatrices& stack, uint32_t expert, uint32_t row, std::span<const float> x,
                       uint32_t code_bytes) {
    const uint64_t at = uint64_t{expert} * stack.device.rows + row;
    return stack.device.layout.arrangement == Arrangement::tiles ? tiles_product(stack, at, x, code_bytes)
                                                                 : product(stack, at, x);
}

/// Bytes of the codes that the kernel of a use reads, or 0.
uint32_t code_bytes_of(KernelRun& run, const KernelUse& use) {
    const auto axis = static_cast<shaders::Format>(use.layout->format);
    return code_bytes_of(run, use.variant == shaders::expert_codes(axis) ||
                                  use.variant == shaders::expert_down_codes(axis));
}

void make_problem(KernelRun& run, const KernelUse& use, uint32_t rows, ExpertInput reads) {
    constexpr uint32_t height = 45;
    Noise noise(8);
    const Layout layout = *use.layout;
    const uint32_t columns = fitting_columns(layout, 96);
    const NoiseMatrices stack = put_weights(
        run, noise, {.layout = layout, .rows = height, .columns = columns, .count = mixture_experts});
    const Mixture mixture = mixture_of(run, noise, rows);
    const uint32_t pairs = mixture.choice.pairs();
    const uint32_t input_rows = reads == ExpertInput::row ? rows : pairs;
    const std::vector<float> x = noise.numbers(uint64_t{input_rows} * columns);
    const Activations output = run.put_unset(pairs, height);
    expert_linear({run.library(), run.recorder()},
                  {.weights = {.matrices = stack.device, .count = mixture_experts},
                   .input = put_input(run, x, input_rows, columns, layout),
                   .output = output,
                   .reads = reads,
                   .choice = mixture.choice,
                   .groups = put_groups(run, mixture.chosen, layout.arrangement)});
    std::vector<Bounded> expected;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const uint32_t row = reads == ExpertInput::row ? pair / mixture_used : pair;
        const std::span<const float> own = std::span(x).subspan(std::size_t{row} * columns, columns);
        for (uint32_t m = 0; m < height; ++m)
            expected.push_back(expert_product(stack, mixture.chosen[pair], m, own, code_bytes_of(run, use)));
    }
    run.expect_rows(output, 0, expected);
}

struct GateUpShape {
    uint32_t rows; ///< of the batch
    uint32_t height;
    Gate kind;
    bool packed;
    bool biases;
};

void make_gate_up_problem(KernelRun& run, const KernelUse& use, const GateUpShape& shape) {
    constexpr uint32_t columns = tile_columns;
    Noise noise(16);
    const NoiseShape matrices{
        .layout = *use.layout, .rows = shape.height, .columns = columns, .count = mixture_experts};
    const NoiseMatrices gate = put_weights(run, noise, matrices);
    const NoiseMatrices up = put_weights(run, noise, matrices);
    const Mixture mixture = mixture_of(run, noise, shape.rows);
    const uint32_t pairs = mixture.choice.pairs();
    const std::vector<float> x = noise.numbers(uint64_t{shape.rows} * columns);
    const std::vector<float> gate_bias = noise.numbers(uint64_t{mixture_experts} * shape.height);
    const std::vector<float> up_bias = noise.numbers(uint64_t{mixture_experts} * shape.height);
    const Activations output = run.put_unset(pairs, shape.height);
    ExpertGateUp operation{.gate = {.matrices = gate.device, .count = mixture_experts},
                           .up = {.matrices = up.device, .count = mixture_experts},
                           .input = put_input(run, x, shape.rows, columns, *use.layout),
                           .output = output,
                           .kind = shape.kind,
                           .packed = shape.packed,
                           .choice = mixture.choice};
    const std::vector<uint32_t> zeros(expert_counter_bytes(pairs, shape.height) / 4);
    if (shape.packed) {
        operation.output.packed =
            run.put(std::vector<uint32_t>(pairs * packed_row_bytes(shape.height) / 4, 0xCDCDCDCD));
        operation.counters = run.put(zeros);
    }
    if (shape.biases) {
        operation.biases = GateBiases{.gate = run.put(gate_bias),
                                      .up = run.put(up_bias),
                                      .experts = mixture.choice.experts,
                                      .expert_count = mixture_experts};
    }
    if (shape.rows > 1)
        operation.groups = put_groups(run, mixture.chosen, Arrangement::tiles);
    expert_gate_up({run.library(), run.recorder()}, operation);
    std::vector<Bounded> expected;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const uint32_t expert = mixture.chosen[pair];
        const auto own = std::span(x).subspan(std::size_t{pair / mixture_used} * columns, columns);
        for (uint32_t m = 0; m < shape.height; ++m) {
            Bounded g = expert_product(gate, expert, m, own, code_bytes_of(run, use));
            Bounded u = expert_product(up, expert, m, own, code_bytes_of(run, use));
            g.value += shape.biases ? gate_bias[expert * shape.height + m] : 0;
            u.value += shape.biases ? up_bias[expert * shape.height + m] : 0;
            expected.push_back(activated_of(shape.kind, g, u));
        }
    }
    run.expect_rows(output, 0, expected);
    if (!shape.packed)
        return;
    expect_blocks(run, operation.output.packed, expected);
    run.expect_words(operation.counters, zeros);
}

void make_down_problem(KernelRun& run, const KernelUse& use, uint32_t rows, bool with_bias) {
    constexpr uint32_t height = 45;
    constexpr uint32_t columns = 2 * tile_columns;
    Noise noise(17);
    const NoiseMatrices stack = put_weights(
        run, noise, {.layout = *use.layout, .rows = height, .columns = columns, .count = mixture_experts});
    const Mixture mixture = mixture_of(run, noise, rows);
    const uint32_t pairs = mixture.choice.pairs();
    const std::vector<float> x = noise.numbers(uint64_t{pairs} * columns);
    const std::vector<float> before = noise.numbers(uint64_t{rows} * height);
    const std::vector<float> bias = noise.numbers(uint64_t{mixture_experts} * height);
    const Activations output = run.put_rows(before, rows, height);
    ExpertDown operation{.weights = {.matrices = stack.device, .count = mixture_experts},
                         .input = put_input(run, x, pairs, columns, *use.layout),
                         .output = output,
                         .choice = mixture.choice};
    if (with_bias)
        operation.bias = run.put(bias);
    expert_down({run.library(), run.recorder()}, operation);
    std::vector<Bounded> expected;
    for (uint32_t at = 0; at < before.size(); ++at) {
        const uint32_t m = at % height;
        Bounded sum{before[at], 8 * rounding};
        for (uint32_t pair = at / height * mixture_used; pair < (at / height + 1) * mixture_used; ++pair) {
            const double weight = mixture.routing_weights[pair];
            const uint32_t expert = mixture.chosen[pair];
            const Bounded one =
                expert_product(stack, expert, m, std::span(x).subspan(std::size_t{pair} * columns, columns),
                               code_bytes_of(run, use));
            const double added = with_bias ? bias[expert * height + m] : 0;
            sum.value += weight * (one.value + added);
            sum.tolerance += std::abs(weight) * (one.tolerance + 8 * rounding * (std::abs(one.value) + 1));
        }
        expected.push_back(sum);
    }
    run.expect_rows(output, 0, expected);
}

void make_expert_linear_problem(KernelRun& run, const KernelUse& use) {
    make_problem(run, use, 1, ExpertInput::row);  // a tile is one pair
    make_problem(run, use, 9, ExpertInput::pair); // a tile is eight, or four
    if (use.layout->arrangement != Arrangement::tiles)
        heads_product_operation.make_problem(run, use); // the same kernel
}

/// The kernel has expert_linear() of matrices in tiles as well.
void make_expert_gate_up_problem(KernelRun& run, const KernelUse& use) {
    make_gate_up_problem(
        run, use, {.rows = 1, .height = tile_columns, .kind = Gate::silu, .packed = true, .biases = false});
    make_gate_up_problem(
        run, use, {.rows = 9, .height = 45, .kind = Gate::clamped_silu, .packed = false, .biases = true});
    make_expert_linear_problem(run, use);
}

void make_expert_down_problem(KernelRun& run, const KernelUse& use) {
    make_down_problem(run, use, 1, false);
    make_down_problem(run, use, 3, true);
}

std::vector<KernelUse> expert_linear_uses(const PlanTarget& target) {
    std::vector<KernelUse> uses;
    const auto add = [&](shaders::Variant variant, Layout layout) {
        uses.push_back({.operation = &expert_linear_operation, .variant = variant, .layout = layout});
    };
    for (const Format format : all_formats()) {
        const Arrangement usual = stack_arrangement(target, format, tile_columns);
        const Layout exact = exact_layout(target, format);
        if (usual == Arrangement::tiles)
            add(expert_tiles_plan(target, format).variant, {.format = format, .arrangement = usual});
        add(exact_stack_variant(target, exact), exact);
    }
    return uses;
}

std::vector<KernelUse> expert_gate_up_uses(const PlanTarget& target) {
    std::vector<KernelUse> uses;
    for (const Layout layout : tiled_stacks(target)) {
        uses.push_back({.operation = &expert_gate_up_operation,
                        .variant = expert_tiles_plan(target, layout.format).variant,
                        .layout = layout});
    }
    return uses;
}

std::vector<KernelUse> expert_down_uses(const PlanTarget& target) {
    std::vector<KernelUse> uses;
    for (const Layout layout : tiled_stacks(target)) {
        uses.push_back({.operation = &expert_down_operation,
                        .variant = expert_down_plan(target, layout.format).variant,
                        .layout = layout});
    }
    return uses;
}

} // namespace

const Operation expert_linear_operation{
    .name = "expert_linear",
    .weights = WeightKind::stack,
    .uses = expert_linear_uses,
    .make_problem = make_expert_linear_problem,
};

const Operation expert_gate_up_operation{
    .name = "expert_gate_up",
    .weights = WeightKind::stack,
    .uses = expert_gate_up_uses,
    .make_problem = make_expert_gate_up_problem,
};

const Operation expert_down_operation{
    .name = "expert_down",
    .weights = WeightKind::stack,
    .uses = expert_down_uses,
    .make_problem = make_expert_down_problem,
};

} // namespace etna::kernels
