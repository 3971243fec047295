#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/activation.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/packed.hpp"

namespace etna::kernels {
namespace {

constexpr uint32_t activation_columns = 131;
constexpr uint32_t activation_rows = 3;
constexpr uint32_t activation_size = activation_rows * activation_columns;

/// Gates in (-gate_size, gate_size), ups in (-up_size, up_size).
void make_gate_problem(KernelRun& run, Gate kind, float gate_size, float up_size) {
    Noise noise(4);
    std::vector<float> gate = noise.numbers(activation_size);
    std::vector<float> up = noise.numbers(activation_size);
    std::vector<Bounded> expected;
    for (std::size_t i = 0; i < activation_size; ++i) {
        gate[i] *= gate_size;
        up[i] *= up_size;
        expected.push_back(activated(kind, gate[i], up[i]));
    }
    const Activations gates = run.put_rows(gate, activation_rows, activation_columns);
    gate_multiply({run.library(), run.recorder()},
                  {.gate = gates,
                   .up = run.put_rows(up, activation_rows, activation_columns),
                   .count = activation_rows,
                   .kind = kind});
    run.expect_rows(gates, 0, expected);
}

void make_packed_gate_problem(KernelRun& run) {
    constexpr uint32_t columns = 2 * tile_columns;
    constexpr uint32_t rows = 2;
    Noise noise(15);
    const std::vector<float> gate = noise.numbers(uint64_t{rows} * columns);
    const std::vector<float> up = noise.numbers(uint64_t{rows} * columns);
    std::vector<Bounded> expected;
    expected.reserve(gate.size());
    for (std::size_t i = 0; i < gate.size(); ++i)
        expected.push_back(activated(Gate::silu, gate[i], up[i]));
    Activations gates = run.put_rows(gate, rows, columns);
    gates.packed = run.put(std::vector<uint32_t>(rows * packed_row_bytes(columns) / 4, 0xCDCDCDCD));
    gate_multiply({run.library(), run.recorder()},
                  {.gate = gates, .up = run.put_rows(up, rows, columns), .count = rows, .packed = true});
    run.expect_rows(gates, 0, expected);
    expect_blocks(run, gates.packed, expected);
}

void make_row_gate_problem(KernelRun& run) {
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
    const Activations gates = run.put_rows(gate, activation_rows, activation_columns);
    gate_multiply({run.library(), run.recorder()},
                  {.gate = gates,
                   .up = run.put_rows(up, activation_rows, activation_columns),
                   .count = activation_rows,
                   .row_gate = run.put_rows(row_gate, activation_rows, 1)});
    run.expect_rows(gates, 0, expected);
}

void make_biases_problem(KernelRun& run) {
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
    const Activations gates = run.put_rows(gate, activation_rows, activation_columns);
    gate_multiply({run.library(), run.recorder()},
                  {.gate = gates,
                   .up = run.put_rows(up, activation_rows, activation_columns),
                   .count = activation_rows,
                   .kind = Gate::clamped_silu,
                   .biases = GateBiases{.gate = run.put(gate_bias),
                                        .up = run.put(up_bias),
                                        .experts = run.put(chosen),
                                        .expert_count = experts}});
    run.expect_rows(gates, 0, expected);
}

void make_gate_multiply_problem(KernelRun& run, const KernelUse&) {
    make_gate_problem(run, Gate::silu, 6, 1);
    make_gate_problem(run, Gate::gelu, 6, 1);
    make_gate_problem(run, Gate::clamped_silu, 12, 10);
    make_gate_problem(run, Gate::sigmoid, 6, 1);
    make_gate_problem(run, Gate::relu, 6, 1);
    make_gate_problem(run, Gate::gelu_erf, 6, 1);
    make_biases_problem(run);
    make_row_gate_problem(run);
    if (reads_packed(run.library().target(), tile_columns))
        make_packed_gate_problem(run);
}

} // namespace

const Operation gate_multiply_operation{
    .name = "gate_multiply",
    .uses = [](const PlanTarget&) { return one_use(gate_multiply_operation, shaders::gate_multiply()); },
    .make_problem = make_gate_multiply_problem,
};

} // namespace etna::kernels
