#include "core/kernels/experts.hpp"
#include "core/kernels/self_check/problems.hpp"
#include "core/kernels/self_check/weights.hpp"

#include <algorithm>

namespace etna::kernels {
namespace {

constexpr uint32_t mixture_experts = 3;
constexpr uint32_t mixture_used = 2;

/// Pairs sorted by expert and cut into tiles, as shaders/experts/groups.glsl says.
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

void pose(Trial& trial, const KernelUse& use, uint32_t rows, ExpertInput reads) {
    constexpr uint32_t height = 45;
    Noise noise(8);
    const uint32_t pairs = rows * mixture_used;
    const uint32_t columns = odd_columns(use.layout.format, 96);
    const Layout layout = use.layout;
    const NoiseMatrices stack = put_weights(
        trial, noise, {.layout = layout, .rows = height, .columns = columns, .count = mixture_experts});
    std::vector<uint32_t> chosen(pairs);
    for (uint32_t pair = 0; pair < pairs; ++pair)
        chosen[pair] = (pair * pair + 1) % mixture_experts;
    const uint32_t input_rows = reads == ExpertInput::row ? rows : pairs;
    const std::vector<float> x = noise.numbers(uint64_t{input_rows} * columns);
    const Activations output = trial.put_unset(pairs, height);
    expert_linear(trial.library(), trial.recorder(),
                  {.weights = {.matrices = stack.device, .count = mixture_experts},
                   .input = trial.put_rows(x, input_rows, columns),
                   .output = output,
                   .reads = reads,
                   .choice = {.experts = trial.put(chosen),
                              .routing_weights = trial.put(std::vector<float>(pairs)),
                              .count = mixture_experts,
                              .experts_per_token = mixture_used,
                              .rows = rows},
                   .groups = {trial.put(groups_of(chosen, expert_tile_pairs(pairs, mixture_experts)))}});
    std::vector<Bounded> expected;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const uint32_t row = reads == ExpertInput::row ? pair / mixture_used : pair;
        for (uint32_t m = 0; m < height; ++m) {
            expected.push_back(product(stack, uint64_t{chosen[pair]} * height + m,
                                       std::span(x).subspan(std::size_t{row} * columns, columns)));
        }
    }
    trial.expect_rows(output, 0, expected);
}

} // namespace

void pose_expert_linear(Trial& trial, const KernelUse& use) {
    pose(trial, use, 1, ExpertInput::row);  // a tile is one pair
    pose(trial, use, 9, ExpertInput::pair); // a tile is eight
}

} // namespace etna::kernels
