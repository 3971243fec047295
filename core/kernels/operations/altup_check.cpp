#include "core/kernels/operations/altup.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <algorithm>
#include <cmath>

namespace etna::kernels {
namespace {

constexpr uint32_t streams = 3;
constexpr uint32_t altup_rows = 2;
constexpr uint32_t altup_columns = 283;
constexpr float altup_epsilon = 1e-3F;

/// A row of `all`.
std::span<const float> row_of(const std::vector<float>& all, uint64_t row, uint32_t columns) {
    return std::span(all).subspan(row * columns, columns);
}

/// Sums of a row in several steps and a tanh: errors stay below this share of the sizes involved.
constexpr double altup_error = 4 * altup_columns * rounding;

class AltUpProblem {
public:
    AltUpProblem(KernelRun& run, uint32_t coefficient_rows, uint64_t seed)
        : noise_(seed), active_(numbers(altup_rows)), others_(numbers((streams - 1) * altup_rows)),
          before_(numbers(altup_rows)), router_(numbers(streams)), norm_(numbers(1)),
          coefficients_(noise_.numbers(uint64_t{coefficient_rows} * streams)) {
        operation_ = {.active = run.put_rows(active_, altup_rows, altup_columns),
                      .streams = run.put_rows(others_, (streams - 1) * altup_rows, altup_columns),
                      .prediction = run.put_rows(before_, altup_rows, altup_columns),
                      .count = altup_rows,
                      .inputs = streams,
                      .router = run.put(router_),
                      .norm = run.put(norm_),
                      .coefficients = run.put(coefficients_),
                      .epsilon = altup_epsilon};
    }

    void predict(KernelRun& run) {
        altup_predict({run.library(), run.recorder()}, operation_);
        expect(run, [&](uint32_t row, uint32_t stream, uint32_t k) {
            double sum = stream_at(row, stream, k);
            double size = std::abs(sum);
            for (uint32_t l = 0; l < streams; ++l) {
                sum += coefficient(row, stream * streams + l) * stream_at(row, l, k);
                size += streams * std::abs(stream_at(row, l, k));
            }
            return Bounded{sum, altup_error * size};
        });
    }

    void correct(KernelRun& run) {
        const std::vector<float> scale = numbers(1);
        const Activations output = run.put_unset(altup_rows, altup_columns);
        altup_correct({run.library(), run.recorder()}, operation_, run.put(scale), output);
        const auto corrected = [&](uint32_t row, uint32_t stream, uint32_t k) {
            const double before = before_[row * altup_columns + k];
            const double difference = stream_at(row, 0, k) - before;
            const double start = stream == 0 ? before : stream_at(row, stream, k);
            return Bounded{start + (1 + coefficient(row, stream)) * difference,
                           altup_error * (std::abs(start) + (1 + streams) * std::abs(difference))};
        };
        expect(run, corrected);
        std::vector<Bounded> scaled;
        for (uint32_t row = 0; row < altup_rows; ++row) {
            for (uint32_t k = 0; k < altup_columns; ++k) {
                const Bounded one = corrected(row, 0, k);
                scaled.push_back({one.value * scale[k], one.tolerance});
            }
        }
        run.expect_rows(output, 0, scaled);
    }

private:
    std::vector<float> numbers(uint32_t rows) { return noise_.numbers(uint64_t{rows} * altup_columns); }

    [[nodiscard]] double stream_at(uint32_t row, uint32_t stream, uint32_t k) const {
        return stream == 0 ? active_[row * altup_columns + k]
                           : others_[((stream - 1) * altup_rows + row) * altup_columns + k];
    }

    [[nodiscard]] double coefficient(uint32_t row, uint32_t index) const {
        double squares = 0;
        for (const float one : row_of(active_, row, altup_columns))
            squares += double{one} * one;
        const double rms = std::sqrt(squares / altup_columns + double{altup_epsilon});
        double sum = 0;
        for (uint32_t j = 0; j < streams; ++j) {
            double mode = 0;
            for (uint32_t k = 0; k < altup_columns; ++k)
                mode += double{router_[j * altup_columns + k]} * norm_[k] * active_[row * altup_columns + k];
            sum += coefficients_[index * streams + j] * std::tanh(mode / rms);
        }
        return sum;
    }

    /// Active stream and prediction, and the others.
    void expect(KernelRun& run, const auto& value_of) {
        std::vector<Bounded> expected;
        for (uint32_t stream = 0; stream < streams; ++stream) {
            for (uint32_t row = 0; row < altup_rows; ++row) {
                for (uint32_t k = 0; k < altup_columns; ++k)
                    expected.push_back(value_of(row, stream, k));
            }
        }
        const auto split = expected.begin() + std::ptrdiff_t{altup_rows} * altup_columns;
        const std::vector<Bounded> first(expected.begin(), split);
        run.expect_rows(operation_.active, 0, first);
        run.expect_rows(operation_.prediction, 0, first);
        run.expect_rows(operation_.streams, 0, {split, expected.end()});
    }

    Noise noise_;
    std::vector<float> active_, others_, before_, router_, norm_, coefficients_;
    AltUp operation_;
};

double mean_square(std::span<const float> row) {
    double squares = 0;
    for (const float one : row)
        squares += double{one} * one;
    return squares / static_cast<double>(row.size());
}

void make_altup_problem(KernelRun& run, const KernelUse&) {
    AltUpProblem(run, streams * streams, 31).predict(run);
    AltUpProblem(run, streams, 32).correct(run);
}

void make_match_rms_problem(KernelRun& run, const KernelUse&) {
    Noise noise(33);
    constexpr uint64_t count = uint64_t{altup_rows} * altup_columns;
    std::vector<float> x = noise.numbers(count);
    for (uint32_t k = 0; k < altup_columns; ++k)
        x[altup_columns + k] *= 0x1p-8F; // a row whose mean square is below epsilon
    const std::vector<float> target = noise.numbers(count);
    const std::vector<float> before = noise.numbers(count);
    const Activations output = run.put_rows(before, altup_rows, altup_columns);
    match_rms({run.library(), run.recorder()}, {.input = run.put_rows(x, altup_rows, altup_columns),
                                                .target = run.put_rows(target, altup_rows, altup_columns),
                                                .output = output,
                                                .count = altup_rows,
                                                .epsilon = altup_epsilon,
                                                .store = Store::add});
    std::vector<Bounded> expected;
    for (uint32_t row = 0; row < altup_rows; ++row) {
        const double mean = std::max(mean_square(row_of(x, row, altup_columns)), double{altup_epsilon});
        const double factor = std::sqrt(mean_square(row_of(target, row, altup_columns)) / mean);
        for (uint32_t k = 0; k < altup_columns; ++k) {
            const double y = x[row * altup_columns + k] * factor;
            const double start = before[row * altup_columns + k];
            expected.push_back(
                {start + y, (altup_columns + 16) * rounding * (std::abs(y) + std::abs(start))});
        }
    }
    run.expect_rows(output, 0, expected);
}

void make_statistical_top_k_problem(KernelRun& run, const KernelUse&) {
    constexpr float deviations = 0.75F;
    Noise noise(34);
    std::vector<float> x = noise.numbers(uint64_t{altup_rows} * altup_columns);
    for (float& one : x)
        one += 0.5F;
    const Activations values = run.put_rows(x, altup_rows, altup_columns);
    statistical_top_k({run.library(), run.recorder()},
                      {.values = values, .first = 1, .count = altup_rows - 1, .deviations = deviations});
    std::vector<Bounded> expected;
    for (uint32_t row = 0; row < altup_rows; ++row) {
        const auto own = row_of(x, row, altup_columns);
        double sum = 0;
        for (const float one : own)
            sum += one;
        const double mean = sum / altup_columns;
        const double sigma = std::sqrt(std::max(mean_square(own) - mean * mean, 0.0));
        for (const float one : own) {
            const double y = row == 0 ? one : std::max(one - (mean + deviations * sigma), 0.0);
            expected.push_back({y, row == 0 ? 0 : (altup_columns + 16) * rounding * 2});
        }
    }
    run.expect_rows(values, 0, expected);
}

} // namespace

const Operation altup_operation{
    .name = "altup",
    .uses =
        [](const PlanTarget& target) { return one_use(altup_operation, reduced(target, shaders::altup)); },
    .make_problem = make_altup_problem,
};

const Operation match_rms_operation{
    .name = "match_rms",
    .uses =
        [](const PlanTarget& target) {
            return one_use(match_rms_operation, reduced(target, shaders::match_rms));
        },
    .make_problem = make_match_rms_problem,
};

const Operation statistical_top_k_operation{
    .name = "statistical_top_k",
    .uses =
        [](const PlanTarget& target) {
            return one_use(statistical_top_k_operation, reduced(target, shaders::statistical_top_k));
        },
    .make_problem = make_statistical_top_k_problem,
};

} // namespace etna::kernels
