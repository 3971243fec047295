#include "core/kernels/operations/gated_rms_norm.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/activation.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <cmath>

namespace etna::kernels {
namespace {

void make_norm_problem(KernelRun& run, GatedNorm order) {
    constexpr uint32_t norm_dim = 75;
    constexpr uint32_t heads = 2;
    constexpr uint32_t rows = 2;
    constexpr float epsilon = 1e-5F;
    Noise noise(13);
    const std::vector<float> x = noise.numbers(uint64_t{rows} * heads * norm_dim);
    std::vector<float> z = noise.numbers(uint64_t{rows} * heads * norm_dim);
    for (float& one : z)
        one *= 6;
    const bool gate_first = order == GatedNorm::gate_first;
    const std::vector<float> weight = noise.numbers(gate_first ? heads * norm_dim : norm_dim);
    const Activations values = run.put_rows(x, rows, heads * norm_dim);
    gated_rms_norm({run.library(), run.recorder()}, {.values = values,
                                                     .gate = run.put_rows(z, rows, heads * norm_dim),
                                                     .weight = run.put(weight),
                                                     .head_dim = norm_dim,
                                                     .count = rows,
                                                     .epsilon = epsilon,
                                                     .order = order});
    std::vector<Bounded> expected;
    for (std::size_t from = 0; from < x.size(); from += norm_dim) {
        const auto gate = [&](std::size_t i) { return z[i] * sigmoid(z[i]); };
        const auto normed = [&](std::size_t i) { return gate_first ? x[i] * gate(i) : x[i]; };
        double squares = 0;
        for (std::size_t i = from; i < from + norm_dim; ++i)
            squares += normed(i) * normed(i);
        const double length = std::sqrt(squares / norm_dim + double{epsilon});
        const std::size_t own_weight = gate_first ? from % weight.size() : 0;
        for (std::size_t i = from; i < from + norm_dim; ++i) {
            const double y = x[i] / length * weight[own_weight + i - from] * gate(i);
            expected.push_back({y, (norm_dim * rounding + 4 * silu_tolerance(z[i])) * std::abs(y)});
        }
    }
    run.expect_rows(values, 0, expected);
}

void make_gated_rms_norm_problem(KernelRun& run, const KernelUse&) {
    for (const GatedNorm order : {GatedNorm::norm_first, GatedNorm::gate_first})
        make_norm_problem(run, order);
}

} // namespace

const Operation gated_rms_norm_operation{
    .name = "gated_rms_norm",
    .uses =
        [](const PlanTarget& target) {
            return one_use(gated_rms_norm_operation, reduced(target, shaders::gated_rms_norm));
        },
    .make_problem = make_gated_rms_norm_problem,
};

} // namespace etna::kernels
