#include "core/kernels/operations/rms_norm.hpp"

#include "core/kernels/self_check/halves.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/problems.hpp"

#include <cmath>

namespace etna::kernels {

namespace {

/// A norm that also writes its halves, over more blocks than a workgroup makes at once.
void pose_halves(Trial& trial) {
    constexpr uint32_t columns = 17 * tile_columns;
    Noise noise(13);
    const std::vector<float> x = noise.numbers(columns);
    const std::vector<float> weight = noise.numbers(columns);
    Activations output = trial.put_unset(1, columns);
    output.halves = trial.put(std::vector<uint32_t>(halves_bytes(columns) / 4, 0xCDCDCDCD));
    rms_norm({trial.library(), trial.recorder()}, {.input = trial.put_rows(x, 1, columns),
                                                   .output = output,
                                                   .weight = trial.put(weight),
                                                   .count = 1,
                                                   .epsilon = 0,
                                                   .halves = true});
    double squares = 0;
    for (const float one : x)
        squares += double{one} * one;
    std::vector<Bounded> expected;
    for (uint32_t k = 0; k < columns; ++k) {
        const double y = x[k] / std::sqrt(squares / columns) * weight[k];
        expected.push_back({y, (columns + 16) * rounding * std::abs(y)});
    }
    trial.expect_rows(output, 0, expected);
    expect_blocks(trial, output.halves, expected);
}

/// A layer norm that replaces its input.
void pose_layer_norm(Trial& trial) {
    constexpr uint32_t columns = 283;
    constexpr float epsilon = 1e-5F;
    Noise noise(23);
    std::vector<float> x = noise.numbers(columns);
    for (float& one : x)
        one += 0.5F;
    const std::vector<float> weight = noise.numbers(columns);
    const std::vector<float> bias = noise.numbers(columns);
    const Activations input = trial.put_rows(x, 1, columns);
    const Activations output = trial.put_unset(1, columns);
    rms_norm({trial.library(), trial.recorder()}, {.input = input,
                                                   .output = output,
                                                   .weight = trial.put(weight),
                                                   .count = 1,
                                                   .epsilon = epsilon,
                                                   .subtracts_mean = true,
                                                   .bias = trial.put(bias),
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
    trial.expect_rows(output, 0, expected);
    trial.expect_rows(input, 0, expected);
}

} // namespace

void pose_rms_norm(Trial& trial, const KernelUse&) {
    constexpr uint32_t columns = 283;
    constexpr uint32_t rows = 3;
    constexpr float epsilon = 1e-5F;
    constexpr float factor = 0.75F;
    Noise noise(3);
    const std::vector<float> x = noise.numbers(uint64_t{rows} * columns);
    const std::vector<float> before = noise.numbers(uint64_t{rows} * columns);
    const std::vector<float> weight = noise.numbers(columns);
    const Activations input = trial.put_rows(x, rows, columns);
    const vk::Range weights = trial.put(weight);
    const Activations replaced = trial.put_unset(2, columns);
    const Activations added = trial.put_rows(before, rows, columns);
    rms_norm({trial.library(), trial.recorder()}, {.input = input,
                                                   .output = replaced,
                                                   .weight = weights,
                                                   .count = 2,
                                                   .indices = trial.put(std::vector<uint32_t>{2, 0}),
                                                   .epsilon = epsilon});
    const vk::Range nan_probes = trial.put(std::vector<uint32_t>(rows, 7));
    rms_norm({trial.library(), trial.recorder()},
             {.input = input,
              .output = added,
              .weight = weights,
              .count = rows,
              .epsilon = epsilon,
              .store = Store::add,
              .factor = factor,
              .nan_probe = NanProbe{.nan_probes = nan_probes, .nan_probe = 0}});
    trial.expect_words(nan_probes, std::vector<uint32_t>(rows, no_nan_probe));

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
    trial.expect_rows(replaced, 0, expected);
    expected.clear();
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t k = 0; k < columns; ++k) {
            const Bounded y = normed(row, k);
            const double sum = before[row * columns + k] + y.value;
            expected.push_back({factor * sum, y.tolerance + 2 * rounding * std::abs(sum)});
        }
    }
    trial.expect_rows(added, 0, expected);
    pose_layer_norm(trial);
    if (reads_halves(trial.library().target(), tile_columns))
        pose_halves(trial);
}

} // namespace etna::kernels
