#include "core/kernels/operations/sum_parts.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

namespace etna::kernels {
namespace {

constexpr uint32_t columns = tile_columns;
constexpr uint32_t rows = 3; ///< of which the first is not written

/// Rows of f16 whose elements are zero, with these factors.
vk::Range put_factors(KernelRun& run, std::span<const float> factors) {
    std::vector<uint32_t> words(rows * f16_row_bytes(columns) / sizeof(uint32_t));
    for (std::size_t row = 0; row < rows; ++row)
        words[row * f16_row_bytes(columns) / sizeof(uint32_t) + columns / 2] =
            std::bit_cast<uint32_t>(factors[row]);
    return run.put(words);
}

/// y += factor x sum of parts + bias, of two matrices.
void make_sum_problem(KernelRun& run, const KernelUse&) {
    constexpr uint32_t splits = 3;
    constexpr uint32_t first = 1;
    constexpr uint32_t count = rows - first;
    const std::vector<uint32_t> heights{300, 5};
    const uint32_t all = heights[0] + heights[1];
    const std::vector<float> factors{1, 0.25F, 8};
    Noise noise(31);
    const std::vector<float> parts = noise.numbers(uint64_t{splits} * count * all);
    std::vector<StackedMatrix> matrices;
    uint32_t begin = 0;
    for (const uint32_t height : heights) {
        const std::vector<float> before = noise.numbers(uint64_t{rows} * height);
        const std::vector<float> bias = noise.numbers(height);
        matrices.push_back({.weight = {.layout = {}, .rows = height, .columns = columns},
                            .output = run.put_rows(before, rows, height),
                            .bias = run.put(bias)});
        std::vector<Bounded> expected;
        for (uint32_t c = 0; c < rows; ++c) {
            for (uint32_t m = 0; m < height; ++m) {
                const double old = before[std::size_t{c} * height + m];
                double sum = 0;
                double size = 0;
                for (uint32_t s = 0; c >= first && s < splits; ++s) {
                    const double part = parts[(std::size_t{s} * count + c - first) * all + begin + m];
                    sum += part;
                    size += std::abs(part);
                }
                const double more = c < first ? 0 : double{bias[m]};
                expected.push_back(
                    {factors[c] * sum + more + old,
                     c < first ? 0 : 8 * rounding * (factors[c] * size + std::abs(more) + std::abs(old))});
            }
        }
        run.expect_rows(matrices.back().output, 0, expected);
        begin += height;
    }
    Activations input{.range = {}, .columns = columns, .stride = columns};
    input.f16 = put_factors(run, factors);
    sum_parts({run.library(), run.recorder()}, {.parts = run.put(parts),
                                                .splits = splits,
                                                .matrices = matrices,
                                                .input = input,
                                                .first = first,
                                                .count = count,
                                                .store = Store::add});
}

} // namespace

const Operation sum_parts_operation{
    .name = "sum_parts",
    .uses =
        [](const PlanTarget& target) {
            return prompts_read_packed(target) ? one_use(sum_parts_operation, shaders::sum_parts())
                                               : std::vector<KernelUse>();
        },
    .make_problem = make_sum_problem,
};

} // namespace etna::kernels
