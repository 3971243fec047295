#include "core/kernels/operations/gate_multiply.hpp"

#include "tests/bench/operations/cases.hpp"

#include <string_view>

#include <fmt/format.h>

namespace etna::bench {
namespace {

void add_gate_multiply(Cases& cases, Gate gate, bool biases, bool packed = false) {
    constexpr std::string_view names[] = {"silu", "gelu", "clamped silu", "sigmoid", "relu"};
    cases.push_back({fmt::format("gate_multiply {}{}{}", names[static_cast<size_t>(gate)],
                                 biases ? ", biases" : "", packed ? ", packed" : ""),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         GateMultiply operation{.gate = activations(space, width),
                                                .up = activations(space, width),
                                                .count = 1,
                                                .kind = gate,
                                                .packed = packed};
                         if (biases) {
                             operation.biases = GateBiases{.gate = space.take(),
                                                           .up = space.take(),
                                                           .experts = space.take(),
                                                           .expert_count = 8};
                         }
                         gate_multiply({library, recorder}, operation);
                     }});
}

} // namespace

void add_gate_multiply_cases(Cases& cases, const PlanTarget& target) {
    for (const Gate gate : {Gate::silu, Gate::gelu, Gate::clamped_silu, Gate::sigmoid, Gate::relu})
        add_gate_multiply(cases, gate, false);
    add_gate_multiply(cases, Gate::clamped_silu, true);
    if (reads_packed(target, width))
        add_gate_multiply(cases, Gate::silu, false, true);
}

} // namespace etna::bench
