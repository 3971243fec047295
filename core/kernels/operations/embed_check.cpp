#include "core/kernels/operations/embed.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/weights.hpp"

#include <cmath>

namespace etna::kernels {
namespace {

void make_embed_problem(KernelRun& run, const KernelUse& use) {
    constexpr uint32_t vocabulary = 21;
    constexpr uint32_t slot = RowInfo::input_is_slot;
    Noise noise(1);
    const Layout layout = *use.layout;
    const uint32_t columns = fitting_columns(layout, 288);
    const NoiseMatrices table =
        put_weights(run, noise, {.layout = layout, .rows = vocabulary, .columns = columns});
    const std::vector<RowInfo> infos{{.input = 20},
                                     {.input = 3},
                                     {.input = slot | 1},
                                     {.input = 999},
                                     {.input = RowInfo::input_is_embedding | 1}};
    const std::vector<uint32_t> tokens{20, 3, 13, vocabulary - 1};
    constexpr uint32_t rows = 5;
    const std::vector<float> positions = noise.numbers(uint64_t{2} * columns);
    const std::vector<float> constant = noise.numbers(columns);
    const std::vector<float> embeddings = noise.numbers(uint64_t{2} * columns);
    const Activations output = run.put_unset(rows, columns);
    embed({run.library(), run.recorder()}, {.rows = {.infos = run.put(infos), .first = 0, .count = rows},
                                            .slots = run.put(std::vector<uint32_t>{5, 13}),
                                            .embeddings = run.put(embeddings),
                                            .table = table.device,
                                            .output = output,
                                            .scale = 0.5F});
    const Activations with_positions = run.put_unset(1, columns);
    embed({run.library(), run.recorder()},
          {.rows = {.infos = run.put(std::vector<RowInfo>{{.input = 3, .position = 1}}),
                    .first = 0,
                    .count = 1},
           .slots = run.put(std::vector<uint32_t>{5, 13}),
           .positions = run.put(positions),
           .constant = run.put(constant),
           .table = table.device,
           .output = with_positions});
    std::vector<Bounded> expected;
    for (const uint32_t token : tokens) {
        for (uint32_t k = 0; k < columns; ++k) {
            const std::size_t at = std::size_t{token} * columns + k;
            const double value = 0.5 * table.values[at];
            // scale x code is exact; a format with an offset rounds once, in either direction
            const bool is_exact = std::abs(table.values[at]) == table.sizes[at];
            expected.push_back({value, is_exact ? 0 : 2 * rounding * std::abs(value)});
        }
    }
    for (uint32_t k = 0; k < columns; ++k)
        expected.push_back({embeddings[columns + k], 0});
    run.expect_rows(output, 0, expected);
    expected.clear();
    for (uint32_t k = 0; k < columns; ++k) {
        const double value = table.values[std::size_t{3} * columns + k];
        const double size = table.sizes[std::size_t{3} * columns + k] + std::abs(positions[columns + k]) +
                            std::abs(constant[k]);
        expected.push_back({value + positions[columns + k] + constant[k], 4 * rounding * size});
    }
    run.expect_rows(with_positions, 0, expected);
}

std::vector<KernelUse> embed_uses(const PlanTarget& target) {
    std::vector<KernelUse> uses;
    for (const Layout layout : matrix_layouts(target)) {
        uses.push_back({.operation = &embed_operation,
                        .variant = shaders::embed(static_cast<shaders::Format>(layout.format),
                                                  static_cast<shaders::Arrangement>(layout.arrangement)),
                        .layout = layout});
    }
    return uses;
}

} // namespace

const Operation embed_operation{
    .name = "embed",
    .weights = WeightKind::matrix,
    .uses = embed_uses,
    .make_problem = make_embed_problem,
};

} // namespace etna::kernels
