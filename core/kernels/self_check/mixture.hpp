#pragma once

#include "core/kernels/operations/experts.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <cstdint>
#include <vector>

// A small mixture of experts for self-checks.
namespace etna::kernels {

constexpr uint32_t mixture_experts = 3;
constexpr uint32_t mixture_used = 2;

/// Pairs sorted by expert and cut into tiles, as shaders/experts/groups.glsl says.
std::vector<uint32_t> groups_of(const std::vector<uint32_t>& chosen, uint32_t tile_pairs);

/// The pairs of some rows, and the routing weight of each.
struct Mixture {
    std::vector<uint32_t> chosen;
    std::vector<float> routing_weights = {};
    ExpertRouting choice = {};
};
Mixture mixture_of(KernelRun& run, Noise& noise, uint32_t rows);

/// act(gate) up of inputs with errors.
Bounded activated_of(Gate kind, Bounded gate, Bounded up);

} // namespace etna::kernels
