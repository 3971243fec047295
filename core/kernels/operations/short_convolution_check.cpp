#include "core/kernels/operations/short_convolution.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/activation.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <cmath>

namespace etna::kernels {
namespace {

/// Seven rows in two steps.
void make_convolution_problem(KernelRun& run, ConvolutionKind kind) {
    constexpr uint32_t channels = 71;
    constexpr uint32_t rows = 7;
    constexpr uint32_t filter_width = 4;
    const bool is_gated = kind == ConvolutionKind::gated;
    const uint32_t columns = is_gated ? 3 * channels : channels;
    const uint32_t length = convolution_ring_length(filter_width);
    Noise noise(12);
    const std::vector<float> x = noise.numbers(uint64_t{rows} * columns);
    const std::vector<float> weight = noise.numbers(uint64_t{channels} * filter_width);
    const std::vector<float> bias = noise.numbers(channels);
    ShortConvolution operation{
        .input = run.put_rows(x, rows, columns),
        .output = run.put_unset(rows, channels),
        .weight = run.put(weight),
        .bias = run.put(bias),
        .ring = {.range = run.put(std::vector<float>(std::size_t{length} * channels, KernelRun::unset)),
                 .slots = 1,
                 .length = length},
        .width = filter_width,
        .kind = kind};
    for (const auto& [from, to] : {std::pair{0U, 2U}, {2U, rows}}) {
        const SequenceInfo step{.slot = 0,
                                .first_row = from,
                                .row_count = to - from,
                                .position = from,
                                .accepted = 0,
                                .flags = commit_rows};
        operation.sequences = {.infos = run.put(std::vector{step}), .count = 1, .rows = rows};
        short_convolution({run.library(), run.recorder()}, operation);
    }
    const auto part = [&](uint32_t row, uint32_t which, uint32_t c) -> double {
        return x[std::size_t{row} * columns + std::size_t{which} * channels + c];
    };
    std::vector<Bounded> expected;
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t c = 0; c < channels; ++c) {
            double sum = bias[c];
            for (uint32_t d = row >= filter_width - 1 ? 0 : filter_width - 1 - row; d < filter_width; ++d) {
                const uint32_t at = row + d - (filter_width - 1);
                sum += weight[std::size_t{c} * filter_width + d] * part(at, 0, c) *
                       (is_gated ? part(at, 2, c) : 1);
            }
            expected.push_back({sum * (is_gated ? part(row, 1, c) : sigmoid(sum)), 8 * silu_tolerance(sum)});
        }
    }
    run.expect_rows(operation.output, 0, expected);
}

void make_short_convolution_problem(KernelRun& run, const KernelUse&) {
    for (const ConvolutionKind kind : {ConvolutionKind::silu, ConvolutionKind::gated})
        make_convolution_problem(run, kind);
}

} // namespace

const Operation short_convolution_operation{
    .name = "short_convolution",
    .uses =
        [](const PlanTarget&) { return one_use(short_convolution_operation, shaders::short_convolution()); },
    .make_problem = make_short_convolution_problem,
};

} // namespace etna::kernels
