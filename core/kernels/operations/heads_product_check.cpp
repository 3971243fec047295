#include "core/kernels/operations/heads_product.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/weights.hpp"

namespace etna::kernels {
namespace {

/// A matrix for each head, whose part of a row has more elements than the matrix reads or writes.
void make_heads_problem(KernelRun& run, const KernelUse& use, uint32_t rows) {
    constexpr uint32_t height = 45;
    constexpr uint32_t heads = 4;
    constexpr uint32_t output_dim = 48;
    Noise noise(18);
    constexpr uint32_t columns = tile_columns;
    constexpr uint32_t input_dim = columns + column_padding;
    const NoiseMatrices stack =
        put_weights(run, noise, {.layout = *use.layout, .rows = height, .columns = columns, .count = heads});
    const std::vector<float> x = noise.numbers(uint64_t{rows} * heads * input_dim);
    const Activations output = run.put_unset(rows, heads * output_dim);
    heads_product({run.library(), run.recorder()},
                  {.weights = {.matrices = stack.device, .count = heads},
                   .input = {.rows = run.put_rows(x, rows, heads * input_dim),
                             .head_dim = input_dim,
                             .columns = columns},
                   .output = {.rows = output, .head_dim = output_dim, .columns = height},
                   .count = rows});
    std::vector<Bounded> expected;
    for (uint32_t pair = 0; pair < rows * heads; ++pair) {
        const auto own = std::span(x).subspan(std::size_t{pair} * input_dim, columns);
        for (uint32_t m = 0; m < output_dim; ++m) {
            expected.push_back(m < height ? product(stack, uint64_t{pair % heads} * height + m, own)
                                          : Bounded{KernelRun::unset, 0});
        }
    }
    run.expect_rows(output, 0, expected);
}

void make_heads_product_problem(KernelRun& run, const KernelUse& use) {
    make_heads_problem(run, use, 1);
    make_heads_problem(run, use, 11);
}

std::vector<KernelUse> heads_product_uses(const PlanTarget& target) {
    std::vector<KernelUse> uses;
    for (const Format format : all_formats()) {
        const Layout layout = exact_layout(target, format);
        uses.push_back({.operation = &heads_product_operation,
                        .variant = exact_stack_variant(target, layout),
                        .layout = layout});
    }
    return uses;
}

} // namespace

const Operation heads_product_operation{
    .name = "heads_product",
    .weights = WeightKind::stack,
    .uses = heads_product_uses,
    .make_problem = make_heads_product_problem,
};

} // namespace etna::kernels
