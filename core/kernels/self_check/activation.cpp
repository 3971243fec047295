#include "core/kernels/gate_multiply.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/problems.hpp"
#include "core/kernels/soft_cap.hpp"

#include <cmath>
#include <numbers>

namespace etna::kernels {
namespace {

constexpr uint32_t activation_columns = 131;
constexpr uint32_t activation_rows = 3;

/// x / (1 + exp(-z)), z = x or what makes it GELU by tanh; exp is good for 3 + 2 |z| units (Vulkan,
/// "Precision of GLSL instructions"), and so is z itself if it is a polynomial.
Bounded activated(Gate kind, double x) {
    const double z =
        kind == Gate::gelu ? 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x) : x;
    const double y = x / (1 + std::exp(-z));
    return {y, (16 + 16 * std::abs(z)) * rounding * std::abs(y)};
}

} // namespace

void pose_gate_multiply(Trial& trial, const KernelUse&) {
    for (const auto kind : {Gate::silu, Gate::gelu}) {
        Noise noise(4);
        std::vector<float> gate = noise.numbers(uint64_t{activation_rows} * activation_columns);
        for (float& one : gate)
            one *= 6;
        const std::vector<float> up = noise.numbers(uint64_t{activation_rows} * activation_columns);
        const Activations gates = trial.put_rows(gate, activation_rows, activation_columns);
        gate_multiply(trial.library(), trial.recorder(),
                      {.gate = gates,
                       .up = trial.put_rows(up, activation_rows, activation_columns),
                       .count = activation_rows,
                       .kind = kind});
        std::vector<Bounded> expected;
        for (std::size_t i = 0; i < gate.size(); ++i) {
            const Bounded y = activated(kind, gate[i]);
            expected.push_back({y.value * up[i], y.tolerance * std::abs(up[i])});
        }
        trial.expect_rows(gates, 0, expected);
    }
}

void pose_soft_cap(Trial& trial, const KernelUse&) {
    constexpr float cap = 3;
    Noise noise(5);
    std::vector<float> x = noise.numbers(uint64_t{activation_rows} * activation_columns);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] *= i % 5 == 0 ? 1000.0F : 8.0F;
    const Activations values = trial.put_rows(x, activation_rows, activation_columns);
    soft_cap(trial.library(), trial.recorder(), {.values = values, .count = activation_rows, .cap = cap});
    std::vector<Bounded> expected;
    expected.reserve(x.size());
    for (const float one : x) // 1 - exp(-2 |x| / cap) is accurate to a few ulps of 1
        expected.push_back({cap * std::tanh(double{one} / cap), 32 * rounding * cap});
    trial.expect_rows(values, 0, expected);
}

} // namespace etna::kernels
