#include "core/kernels/operations/expert_matrix.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/mixture.hpp"
#include "core/kernels/self_check/packed.hpp"
#include "core/kernels/self_check/tiles.hpp"
#include "core/kernels/self_check/weights.hpp"

#include <cmath>
#include <cstddef>

namespace etna::kernels {
namespace {

struct MatrixShape {
    uint32_t rows; ///< of the batch
    uint32_t height;
    uint32_t columns;
    ExpertInput reads;
    std::optional<Gate> gate = std::nullopt; ///< without, one matrix
    bool biases = false;
};

/// Row `row` of an expert's matrix times a row of x, rounded to f16.
Bounded unit_product(const NoiseMatrices& stack, uint32_t expert, uint32_t row, std::span<const float> x) {
    const uint64_t at = uint64_t{expert} * stack.device.rows + row;
    Bounded y = product(stack, at, x);
    y.tolerance += half_error(stack, at, x);
    return y;
}

void make_problem(KernelRun& run, Layout layout, const MatrixShape& shape) {
    Noise noise(41);
    const NoiseShape matrices{
        .layout = layout, .rows = shape.height, .columns = shape.columns, .count = mixture_experts};
    const NoiseMatrices weights = put_weights(run, noise, matrices);
    const NoiseMatrices up = put_weights(run, noise, matrices);
    const Mixture mixture = mixture_of(run, noise, shape.rows);
    const uint32_t pairs = mixture.choice.pairs();
    const uint32_t input_rows = shape.reads == ExpertInput::row ? shape.rows : pairs;
    const std::vector<float> x = noise.numbers(uint64_t{input_rows} * shape.columns);
    const std::vector<float> gate_bias = noise.numbers(uint64_t{mixture_experts} * shape.height);
    const std::vector<float> up_bias = noise.numbers(uint64_t{mixture_experts} * shape.height);
    const uint32_t tile_pairs = unit_tile_pairs(run.library().target(), pairs, mixture_experts);
    ExpertMatrix operation{
        .weights = {.matrices = weights.device, .count = mixture_experts},
        .input = run.put_rows(x, input_rows, shape.columns),
        .output = run.put_unset(pairs, shape.height),
        .reads = shape.reads,
        .choice = mixture.choice,
        .groups = {.range = run.put(groups_of(mixture.chosen, tile_pairs)), .tile_pairs = tile_pairs}};
    operation.input.f16 = run.put(f16_rows_of(x, shape.columns));
    if (shape.gate) {
        operation.up = MatrixStack{.matrices = up.device, .count = mixture_experts};
        operation.kind = *shape.gate;
    }
    if (shape.biases) {
        operation.biases = GateBiases{.gate = run.put(gate_bias),
                                      .up = run.put(up_bias),
                                      .experts = mixture.choice.experts,
                                      .expert_count = mixture_experts};
    }
    expert_matrix({run.library(), run.recorder()}, operation);
    std::vector<Bounded> expected;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const uint32_t expert = mixture.chosen[pair];
        const uint32_t row = shape.reads == ExpertInput::row ? pair / mixture_used : pair;
        const auto own = std::span(x).subspan(std::size_t{row} * shape.columns, shape.columns);
        for (uint32_t m = 0; m < shape.height; ++m) {
            Bounded y = unit_product(weights, expert, m, own);
            if (shape.gate) {
                Bounded u = unit_product(up, expert, m, own);
                y.value += shape.biases ? gate_bias[expert * shape.height + m] : 0;
                u.value += shape.biases ? up_bias[expert * shape.height + m] : 0;
                y = activated_of(*shape.gate, y, u);
            }
            expected.push_back(y);
        }
    }
    run.expect_rows(operation.output, 0, expected);
}

void make_expert_matrix_problem(KernelRun& run, const KernelUse& use) {
    make_problem(run, *use.layout,
                 {.rows = 9, .height = 45, .columns = 2 * tile_columns, .reads = ExpertInput::pair});
    make_problem(
        run, *use.layout,
        {.rows = 3, .height = 77, .columns = tile_columns, .reads = ExpertInput::row, .gate = Gate::silu});
    make_problem(run, *use.layout,
                 {.rows = 160, // tiles of many pairs
                  .height = 66,
                  .columns = tile_columns,
                  .reads = ExpertInput::row,
                  .gate = Gate::clamped_silu,
                  .biases = true});
}

} // namespace

const Operation expert_matrix_operation{
    .name = "expert_matrix",
    .weights = WeightKind::stack,
    .uses =
        [](const PlanTarget& target) {
            std::vector<KernelUse> uses;
            for (const Layout layout : tiled_stacks(target)) {
                if (!experts_on_units(target, layout))
                    continue;
                uses.push_back(
                    {.operation = &expert_matrix_operation,
                     .variant = shaders::expert_matrix(static_cast<shaders::Format>(layout.format)),
                     .layout = layout,
                     .path = RowPath::prefill});
            }
            return uses;
        },
    .make_problem = make_expert_matrix_problem,
};

} // namespace etna::kernels
