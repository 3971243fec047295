#include "core/kernels/self_check/mixture.hpp"

#include "core/kernels/self_check/activation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace etna::kernels {

std::vector<uint32_t> groups_of(const std::vector<uint32_t>& chosen, uint32_t tile_pairs) {
    const auto pairs = static_cast<uint32_t>(chosen.size());
    std::vector<uint32_t> groups{0};
    std::vector<uint32_t> order;
    for (uint32_t expert = 0; expert < mixture_experts; ++expert) {
        const auto first = static_cast<uint32_t>(order.size());
        for (uint32_t pair = 0; pair < pairs; ++pair) {
            if (chosen[pair] == expert)
                order.push_back(pair);
        }
        const auto end = static_cast<uint32_t>(order.size());
        for (uint32_t at = first; at < end; at += tile_pairs) {
            groups.insert(groups.end(), {expert, at, std::min(tile_pairs, end - at)});
            ++groups[0];
        }
    }
    groups.resize(1 + std::size_t{3} * pairs);
    groups.insert(groups.end(), order.begin(), order.end());
    return groups;
}

Mixture mixture_of(KernelRun& run, Noise& noise, uint32_t rows) {
    Mixture mixture{.chosen = std::vector<uint32_t>(std::size_t{rows} * mixture_used)};
    for (uint32_t pair = 0; pair < mixture.chosen.size(); ++pair)
        mixture.chosen[pair] = (pair * pair + 1) % mixture_experts;
    mixture.routing_weights = noise.numbers(mixture.chosen.size());
    mixture.choice = {.experts = run.put(mixture.chosen),
                      .routing_weights = run.put(mixture.routing_weights),
                      .count = mixture_experts,
                      .experts_per_token = mixture_used,
                      .rows = rows};
    return mixture;
}

Bounded activated_of(Gate kind, Bounded gate, Bounded up) {
    constexpr double steepest = 1.13; // derivative of act; of up 1.13 (7 + 1)
    Bounded y = activated(kind, gate.value, up.value);
    const double size = std::abs(gate.value) + gate.tolerance;
    y.tolerance += steepest * gate.tolerance * (std::abs(up.value) + up.tolerance + 1) + size * up.tolerance;
    y.tolerance += 4 * rounding * (std::abs(gate.value) + 1) * (std::abs(up.value) + 1); // of biases
    return y;
}

} // namespace etna::kernels
