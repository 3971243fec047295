#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/packed.hpp"

#include <cmath>

namespace etna::kernels {
namespace {

/// A norm that also writes a packed form, over more blocks than a workgroup makes at once.
void make_packed_problem(KernelRun& run, PackedForm form) {
    constexpr uint32_t columns = 17 * tile_columns;
    Noise noise(13);
    const std::vector<float> x = noise.numbers(columns);
    const std::vector<float> weight = noise.numbers(columns);
    Activations output = run.put_unset(1, columns);
    (form == PackedForm::blocks ? output.packed : output.f16) =
        run.put(std::vector<uint32_t>(row_bytes(form, columns) / 4, 0xCDCDCDCD));
    rms_norm({run.library(), run.recorder()}, {.input = run.put_rows(x, 1, columns),
                                               .output = output,
                                               .weight = run.put(weight),
                                               .count = 1,
                                               .epsilon = 0,
                                               .packs = form});
    double squares = 0;
    for (const float one : x)
        squares += double{one} * one;
    std::vector<Bounded> expected;
    for (uint32_t k = 0; k < columns; ++k) {
        const double y = x[k] / std::sqrt(squares / columns) * weight[k];
        expected.push_back({y, (columns + 16) * rounding * std::abs(y)});
    }
    run.expect_rows(output, 0, expected);
    if (form == PackedForm::blocks)
        expect_blocks(run, output.packed, expected);
    else
        expect_f16_row(run, output.f16, expected);
}

/// A layer norm that replaces its input.
void make_layer_norm_problem(KernelRun& run) {
    constexpr uint32_t columns = 283;
    constexpr float epsilon = 1e-5F;
    Noise noise(23);
    std::vector<float> x = noise.numbers(columns);
    for (float& one : x)
        one += 0.5F;
    const std::vector<float> weight = noise.numbers(columns);
    const std::vector<float> bias = noise.numbers(columns);
    const Activations input = run.put_rows(x, 1, columns);
    const Activations output = run.put_unset(1, columns);
    rms_norm({run.library(), run.recorder()}, {.input = input,
                                               .output = output,
                                               .weight = run.put(weight),
                                               .count = 1,
                                               .epsilon = epsilon,
                                               .subtracts_mean = true,
                                               .bias = run.put(bias),
                                               .replaces_input = true});
    double mean = 0;
    for (const float one : x)
        mean += double{one} / columns;
    double variance = 0;
    for (const float one : x)
        variance += (one - mean) * (one - mean) / columns;
    const double factor = 1 / std::sqrt(variance + double{epsilon});
    std::vector<Bounded> expected;
    for (uint32_t k = 0; k < columns; ++k) {
        const double y = (x[k] - mean) * factor * weight[k];
        // the mean is wrong by the rounding of a sum of `columns` numbers
        const double error = (columns + 16) * rounding * (std::abs(y) + 2 * factor * std::abs(weight[k]));
        expected.push_back({y + bias[k], error + 2 * rounding * std::abs(bias[k])});
    }
    run.expect_rows(output, 0, expected);
    run.expect_rows(input, 0, expected);
}

void make_rms_norm_problem(KernelRun& run, const KernelUse&) {
    constexpr uint32_t columns = 283;
    constexpr uint32_t rows = 3;
    constexpr float epsilon = 1e-5F;
    constexpr float factor = 0.75F;
    Noise noise(3);
    const std::vector<float> x = noise.numbers(uint64_t{rows} * columns);
    const std::vector<float> before = noise.numbers(uint64_t{rows} * columns);
    const std::vector<float> weight = noise.numbers(columns);
    const Activations input = run.put_rows(x, rows, columns);
    const vk::Range weights = run.put(weight);
    const Activations replaced = run.put_unset(2, columns);
    const Activations added = run.put_rows(before, rows, columns);
    rms_norm({run.library(), run.recorder()}, {.input = input,
                                               .output = replaced,
                                               .weight = weights,
                                               .count = 2,
                                               .indices = run.put(std::vector<uint32_t>{2, 0}),
                                               .epsilon = epsilon});
    const vk::Range nan_probes = run.put(std::vector<uint32_t>(rows, 7));
    rms_norm({run.library(), run.recorder()},
             {.input = input,
              .output = added,
              .weight = weights,
              .count = rows,
              .epsilon = epsilon,
              .store = Store::add,
              .factor = factor,
              .nan_probe = NanProbe{.nan_probes = nan_probes, .nan_probe = 0}});
    run.expect_words(nan_probes, std::vector<uint32_t>(rows, no_nan_probe));

    const auto normed = [&](uint32_t row, uint32_t k) {
        double squares = 0;
        for (uint32_t i = 0; i < columns; ++i)
            squares += double{x[row * columns + i]} * x[row * columns + i];
        const double y = x[row * columns + k] / std::sqrt(squares / columns + double{epsilon}) * weight[k];
        // a sum of squares, division, inverse square root (2 units), two products
        return Bounded{y, (columns + 16) * rounding * std::abs(y)};
    };
    std::vector<Bounded> expected;
    for (const uint32_t row : {2U, 0U}) {
        for (uint32_t k = 0; k < columns; ++k)
            expected.push_back(normed(row, k));
    }
    run.expect_rows(replaced, 0, expected);
    expected.clear();
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t k = 0; k < columns; ++k) {
            const Bounded y = normed(row, k);
            const double sum = before[row * columns + k] + y.value;
            expected.push_back({factor * sum, y.tolerance + 2 * rounding * std::abs(sum)});
        }
    }
    run.expect_rows(added, 0, expected);
    make_layer_norm_problem(run);
    if (reads_packed(run.library().target(), tile_columns))
        make_packed_problem(run, PackedForm::blocks);
    if (prompts_read_packed(run.library().target()))
        make_packed_problem(run, PackedForm::f16);
}

} // namespace

const Operation rms_norm_operation{
    .name = "rms_norm",
    .uses =
        [](const PlanTarget& target) {
            return one_use(rms_norm_operation, reduced(target, shaders::rms_norm));
        },
    .make_problem = make_rms_norm_problem,
};

} // namespace etna::kernels
