#include "core/kernels/operations/soft_cap.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <cmath>

namespace etna::kernels {
namespace {

constexpr uint32_t capped_columns = 131;
constexpr uint32_t capped_rows = 3;

void make_scale_problem(KernelRun& run) {
    constexpr float scale = 0.3F;
    Noise noise(17);
    const std::vector<float> x = noise.numbers(uint64_t{capped_rows} * capped_columns);
    const Activations values = run.put_rows(x, capped_rows, capped_columns);
    soft_cap({run.library(), run.recorder()}, {.values = values, .count = capped_rows, .scale = scale});
    std::vector<Bounded> expected;
    expected.reserve(x.size());
    for (const float one : x)
        expected.push_back({double{scale} * one, rounding * std::abs(one)});
    run.expect_rows(values, 0, expected);
}

void make_soft_cap_problem(KernelRun& run, const KernelUse&) {
    make_scale_problem(run);
    constexpr float cap = 3;
    Noise noise(5);
    std::vector<float> x = noise.numbers(uint64_t{capped_rows} * capped_columns);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] *= i % 5 == 0 ? 1000.0F : 8.0F;
    const Activations values = run.put_rows(x, capped_rows, capped_columns);
    soft_cap({run.library(), run.recorder()}, {.values = values, .count = capped_rows, .cap = cap});
    std::vector<Bounded> expected;
    expected.reserve(x.size());
    for (const float one : x) // 1 - exp(-2 |x| / cap) is accurate to a few ulps of 1
        expected.push_back({cap * std::tanh(double{one} / cap), 32 * rounding * cap});
    run.expect_rows(values, 0, expected);
}

} // namespace

const Operation soft_cap_operation{
    .name = "soft_cap",
    .uses = [](const PlanTarget&) { return one_use(soft_cap_operation, shaders::soft_cap()); },
    .make_problem = make_soft_cap_problem,
};

} // namespace etna::kernels
