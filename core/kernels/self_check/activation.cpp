#include "core/kernels/self_check/activation.hpp"

#include "core/kernels/operations/soft_cap.hpp"
#include "core/kernels/self_check/halves.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/problems.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace etna::kernels {

Bounded activated(Gate kind, double gate, double up) {
    if (kind == Gate::relu)
        return {std::max(gate, 0.0) * up, 2 * rounding * std::abs(gate * up)};
    if (kind == Gate::gelu_erf) { // the error function of the shader is wrong by up to 1.5e-7
        constexpr double erf_error = 1e-6;
        return {gate / 2 * (1 + std::erf(gate / std::numbers::sqrt2)) * up, erf_error * std::abs(gate * up)};
    }
    const bool is_clamped = kind == Gate::clamped_silu;
    const double x = is_clamped ? std::min(gate, 7.0) : gate;
    const double u = is_clamped ? std::clamp(up, -7.0, 7.0) + 1 : up;
    double z = is_clamped ? 1.702 * x : x;
    if (kind == Gate::gelu)
        z = 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    const double y = (kind == Gate::sigmoid ? 1 : x) / (1 + std::exp(-z));
    const double y_error = (16 + 16 * std::abs(z)) * rounding * std::abs(y);
    const double u_error = 4 * rounding * (std::abs(up) + 2);
    return {y * u, y_error * std::abs(u) + u_error * std::abs(y)};
}

namespace {

constexpr uint32_t activation_columns = 131;
constexpr uint32_t activation_rows = 3;
constexpr uint32_t activation_size = activation_rows * activation_columns;

/// Gates in (-gate_size, gate_size), ups in (-up_size, up_size).
void pose_gate(Trial& trial, Gate kind, float gate_size, float up_size) {
    Noise noise(4);
    std::vector<float> gate = noise.numbers(activation_size);
    std::vector<float> up = noise.numbers(activation_size);
    std::vector<Bounded> expected;
    for (std::size_t i = 0; i < activation_size; ++i) {
        gate[i] *= gate_size;
        up[i] *= up_size;
        expected.push_back(activated(kind, gate[i], up[i]));
    }
    const Activations gates = trial.put_rows(gate, activation_rows, activation_columns);
    gate_multiply({trial.library(), trial.recorder()},
                  {.gate = gates,
                   .up = trial.put_rows(up, activation_rows, activation_columns),
                   .count = activation_rows,
                   .kind = kind});
    trial.expect_rows(gates, 0, expected);
}

void pose_gate_halves(Trial& trial) {
    constexpr uint32_t columns = 2 * tile_columns;
    constexpr uint32_t rows = 2;
    Noise noise(15);
    const std::vector<float> gate = noise.numbers(uint64_t{rows} * columns);
    const std::vector<float> up = noise.numbers(uint64_t{rows} * columns);
    std::vector<Bounded> expected;
    expected.reserve(gate.size());
    for (std::size_t i = 0; i < gate.size(); ++i)
        expected.push_back(activated(Gate::silu, gate[i], up[i]));
    Activations gates = trial.put_rows(gate, rows, columns);
    gates.halves = trial.put(std::vector<uint32_t>(rows * halves_bytes(columns) / 4, 0xCDCDCDCD));
    gate_multiply({trial.library(), trial.recorder()},
                  {.gate = gates, .up = trial.put_rows(up, rows, columns), .count = rows, .halves = true});
    trial.expect_rows(gates, 0, expected);
    expect_blocks(trial, gates.halves, expected);
}

void pose_row_gate(Trial& trial) {
    Noise noise(16);
    const std::vector<float> gate = noise.numbers(activation_size);
    const std::vector<float> up = noise.numbers(activation_size);
    std::vector<float> row_gate = noise.numbers(activation_rows);
    for (float& one : row_gate)
        one *= 6;
    std::vector<Bounded> expected;
    for (uint32_t i = 0; i < activation_size; ++i) {
        const Bounded one = activated(Gate::silu, gate[i], up[i]);
        const Bounded factor = activated(Gate::sigmoid, row_gate[i / activation_columns], 1);
        const double y = one.value * factor.value;
        expected.push_back({y, one.tolerance * factor.value + factor.tolerance * std::abs(one.value) +
                                   4 * rounding * std::abs(y)});
    }
    const Activations gates = trial.put_rows(gate, activation_rows, activation_columns);
    gate_multiply({trial.library(), trial.recorder()},
                  {.gate = gates,
                   .up = trial.put_rows(up, activation_rows, activation_columns),
                   .count = activation_rows,
                   .row_gate = trial.put_rows(row_gate, activation_rows, 1)});
    trial.expect_rows(gates, 0, expected);
}

void pose_biases(Trial& trial) {
    constexpr uint32_t experts = 4;
    const std::vector<uint32_t> chosen{2, 0, 3};
    Noise noise(14);
    const std::vector<float> gate = noise.numbers(activation_size);
    const std::vector<float> up = noise.numbers(activation_size);
    const std::vector<float> gate_bias = noise.numbers(uint64_t{experts} * activation_columns);
    const std::vector<float> up_bias = noise.numbers(uint64_t{experts} * activation_columns);
    std::vector<Bounded> expected;
    for (uint32_t i = 0; i < activation_size; ++i) {
        const uint32_t at = chosen[i / activation_columns] * activation_columns + i % activation_columns;
        Bounded one =
            activated(Gate::clamped_silu, double{gate[i]} + gate_bias[at], double{up[i]} + up_bias[at]);
        one.tolerance += 64 * rounding; // of the sums: all that they enter is below 10
        expected.push_back(one);
    }
    const Activations gates = trial.put_rows(gate, activation_rows, activation_columns);
    gate_multiply({trial.library(), trial.recorder()},
                  {.gate = gates,
                   .up = trial.put_rows(up, activation_rows, activation_columns),
                   .count = activation_rows,
                   .kind = Gate::clamped_silu,
                   .biases = GateBiases{.gate = trial.put(gate_bias),
                                        .up = trial.put(up_bias),
                                        .experts = trial.put(chosen),
                                        .expert_count = experts}});
    trial.expect_rows(gates, 0, expected);
}

void pose_scale(Trial& trial) {
    constexpr float scale = 0.3F;
    Noise noise(17);
    const std::vector<float> x = noise.numbers(uint64_t{activation_rows} * activation_columns);
    const Activations values = trial.put_rows(x, activation_rows, activation_columns);
    soft_cap({trial.library(), trial.recorder()},
             {.values = values, .count = activation_rows, .scale = scale});
    std::vector<Bounded> expected;
    expected.reserve(x.size());
    for (const float one : x)
        expected.push_back({double{scale} * one, rounding * std::abs(one)});
    trial.expect_rows(values, 0, expected);
}

} // namespace

void pose_gate_multiply(Trial& trial, const KernelUse&) {
    pose_gate(trial, Gate::silu, 6, 1);
    pose_gate(trial, Gate::gelu, 6, 1);
    pose_gate(trial, Gate::clamped_silu, 12, 10);
    pose_gate(trial, Gate::sigmoid, 6, 1);
    pose_gate(trial, Gate::relu, 6, 1);
    pose_gate(trial, Gate::gelu_erf, 6, 1);
    pose_biases(trial);
    pose_row_gate(trial);
    if (reads_halves(trial.library().target(), tile_columns))
        pose_gate_halves(trial);
}

void pose_soft_cap(Trial& trial, const KernelUse&) {
    pose_scale(trial);
    constexpr float cap = 3;
    Noise noise(5);
    std::vector<float> x = noise.numbers(uint64_t{activation_rows} * activation_columns);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] *= i % 5 == 0 ? 1000.0F : 8.0F;
    const Activations values = trial.put_rows(x, activation_rows, activation_columns);
    soft_cap({trial.library(), trial.recorder()}, {.values = values, .count = activation_rows, .cap = cap});
    std::vector<Bounded> expected;
    expected.reserve(x.size());
    for (const float one : x) // 1 - exp(-2 |x| / cap) is accurate to a few ulps of 1
        expected.push_back({cap * std::tanh(double{one} / cap), 32 * rounding * cap});
    trial.expect_rows(values, 0, expected);
}

} // namespace etna::kernels
