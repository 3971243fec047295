#include "core/kernels/operations/experts.hpp"
#include "core/kernels/operations/heads_product.hpp"
#include "core/kernels/self_check/activation.hpp"
#include "core/kernels/self_check/halves.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/problems.hpp"
#include "core/kernels/self_check/tiles.hpp"
#include "core/kernels/self_check/weights.hpp"

#include <algorithm>
#include <cmath>

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

ExpertGroups put_groups(Trial& trial, const std::vector<uint32_t>& chosen, Arrangement arrangement) {
    const auto pairs = static_cast<uint32_t>(chosen.size());
    const uint32_t tile_pairs = expert_tile_pairs(pairs, mixture_experts, arrangement);
    return {.range = trial.put(groups_of(chosen, tile_pairs)), .tile_pairs = tile_pairs};
}

/// The pairs of some rows, and the routing weight of each.
struct Mixture {
    std::vector<uint32_t> chosen;
    std::vector<float> routing_weights = {};
    ExpertRouting choice = {};
};

Mixture mixture_of(Trial& trial, Noise& noise, uint32_t rows) {
    Mixture mixture{.chosen = std::vector<uint32_t>(std::size_t{rows} * mixture_used)};
    for (uint32_t pair = 0; pair < mixture.chosen.size(); ++pair)
        mixture.chosen[pair] = (pair * pair + 1) % mixture_experts;
    mixture.routing_weights = noise.numbers(mixture.chosen.size());
    mixture.choice = {.experts = trial.put(mixture.chosen),
                      .routing_weights = trial.put(mixture.routing_weights),
                      .count = mixture_experts,
                      .experts_per_token = mixture_used,
                      .rows = rows};
    return mixture;
}

/// Rows on the device, with halves if a layout reads them.
Activations put_input(Trial& trial, const std::vector<float>& x, uint32_t rows, uint32_t columns,
                      Layout layout) {
    Activations input = trial.put_rows(x, rows, columns);
    if (layout.arrangement == Arrangement::tiles)
        input.halves = trial.put(halves_of(x));
    return input;
}

/// Row `row` of an expert's matrix times a row of x, as kernels of a layout compute it.
Bounded expert_product(const NoiseMatrices& stack, uint32_t expert, uint32_t row, std::span<const float> x,
                       uint32_t code_bytes) {
    const uint64_t at = uint64_t{expert} * stack.device.rows + row;
    return stack.device.layout.arrangement == Arrangement::tiles ? tiles_product(stack, at, x, code_bytes)
                                                                 : product(stack, at, x);
}

/// Bytes of the codes that the kernel of a use reads, or 0.
uint32_t code_bytes_of(Trial& trial, const KernelUse& use) {
    const auto axis = static_cast<shaders::Format>(use.layout.format);
    return code_bytes_of(trial, use.variant == shaders::expert_codes(axis) ||
                                    use.variant == shaders::expert_down_codes(axis));
}

void pose(Trial& trial, const KernelUse& use, uint32_t rows, ExpertInput reads) {
    constexpr uint32_t height = 45;
    Noise noise(8);
    const Layout layout = use.layout;
    const uint32_t columns = fitting_columns(layout, 96);
    const NoiseMatrices stack = put_weights(
        trial, noise, {.layout = layout, .rows = height, .columns = columns, .count = mixture_experts});
    const Mixture mixture = mixture_of(trial, noise, rows);
    const uint32_t pairs = mixture.choice.pairs();
    const uint32_t input_rows = reads == ExpertInput::row ? rows : pairs;
    const std::vector<float> x = noise.numbers(uint64_t{input_rows} * columns);
    const Activations output = trial.put_unset(pairs, height);
    expert_linear({trial.library(), trial.recorder()},
                  {.weights = {.matrices = stack.device, .count = mixture_experts},
                   .input = put_input(trial, x, input_rows, columns, layout),
                   .output = output,
                   .reads = reads,
                   .choice = mixture.choice,
                   .groups = put_groups(trial, mixture.chosen, layout.arrangement)});
    std::vector<Bounded> expected;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const uint32_t row = reads == ExpertInput::row ? pair / mixture_used : pair;
        const std::span<const float> own = std::span(x).subspan(std::size_t{row} * columns, columns);
        for (uint32_t m = 0; m < height; ++m)
            expected.push_back(
                expert_product(stack, mixture.chosen[pair], m, own, code_bytes_of(trial, use)));
    }
    trial.expect_rows(output, 0, expected);
}

/// A matrix for each head, whose part of a row has more elements than the matrix reads or writes.
void pose_heads(Trial& trial, const KernelUse& use, uint32_t rows) {
    constexpr uint32_t height = 45;
    constexpr uint32_t heads = 4;
    constexpr uint32_t output_dim = 48;
    Noise noise(18);
    constexpr uint32_t columns = tile_columns;
    constexpr uint32_t input_dim = columns + column_padding;
    const NoiseMatrices stack =
        put_weights(trial, noise, {.layout = use.layout, .rows = height, .columns = columns, .count = heads});
    const std::vector<float> x = noise.numbers(uint64_t{rows} * heads * input_dim);
    const Activations output = trial.put_unset(rows, heads * output_dim);
    heads_product({trial.library(), trial.recorder()},
                  {.weights = {.matrices = stack.device, .count = heads},
                   .input = {.rows = trial.put_rows(x, rows, heads * input_dim),
                             .head_dim = input_dim,
                             .columns = columns},
                   .output = {.rows = output, .head_dim = output_dim, .columns = height},
                   .count = rows});
    std::vector<Bounded> expected;
    for (uint32_t pair = 0; pair < rows * heads; ++pair) {
        const auto own = std::span(x).subspan(std::size_t{pair} * input_dim, columns);
        for (uint32_t m = 0; m < output_dim; ++m) {
            expected.push_back(m < height ? expert_product(stack, pair % heads, m, own, 0)
                                          : Bounded{Trial::unset, 0});
        }
    }
    trial.expect_rows(output, 0, expected);
}

/// act(gate) up of inputs with errors; the derivatives of act are below 1.13, and 1.13 (7 + 1) of up.
Bounded activated_of(Gate kind, Bounded gate, Bounded up) {
    constexpr double steepest = 1.13;
    Bounded y = activated(kind, gate.value, up.value);
    const double size = std::abs(gate.value) + gate.tolerance;
    y.tolerance += steepest * gate.tolerance * (std::abs(up.value) + up.tolerance + 1) + size * up.tolerance;
    y.tolerance += 4 * rounding * (std::abs(gate.value) + 1) * (std::abs(up.value) + 1); // of biases
    return y;
}

struct GateUpShape {
    uint32_t rows; ///< of the batch
    uint32_t height;
    Gate kind;
    bool halves;
    bool biases;
};

void pose_gate_up(Trial& trial, const KernelUse& use, const GateUpShape& shape) {
    constexpr uint32_t columns = tile_columns;
    Noise noise(16);
    const NoiseShape matrices{
        .layout = use.layout, .rows = shape.height, .columns = columns, .count = mixture_experts};
    const NoiseMatrices gate = put_weights(trial, noise, matrices);
    const NoiseMatrices up = put_weights(trial, noise, matrices);
    const Mixture mixture = mixture_of(trial, noise, shape.rows);
    const uint32_t pairs = mixture.choice.pairs();
    const std::vector<float> x = noise.numbers(uint64_t{shape.rows} * columns);
    const std::vector<float> gate_bias = noise.numbers(uint64_t{mixture_experts} * shape.height);
    const std::vector<float> up_bias = noise.numbers(uint64_t{mixture_experts} * shape.height);
    const Activations output = trial.put_unset(pairs, shape.height);
    ExpertGateUp operation{.gate = {.matrices = gate.device, .count = mixture_experts},
                           .up = {.matrices = up.device, .count = mixture_experts},
                           .input = put_input(trial, x, shape.rows, columns, use.layout),
                           .output = output,
                           .kind = shape.kind,
                           .halves = shape.halves,
                           .choice = mixture.choice};
    const std::vector<uint32_t> zeros(expert_counter_bytes(pairs, shape.height) / 4);
    if (shape.halves) {
        operation.output.halves =
            trial.put(std::vector<uint32_t>(pairs * halves_bytes(shape.height) / 4, 0xCDCDCDCD));
        operation.counters = trial.put(zeros);
    }
    if (shape.biases) {
        operation.biases = GateBiases{.gate = trial.put(gate_bias),
                                      .up = trial.put(up_bias),
                                      .experts = mixture.choice.experts,
                                      .expert_count = mixture_experts};
    }
    if (shape.rows > 1)
        operation.groups = put_groups(trial, mixture.chosen, Arrangement::tiles);
    expert_gate_up({trial.library(), trial.recorder()}, operation);
    std::vector<Bounded> expected;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const uint32_t expert = mixture.chosen[pair];
        const auto own = std::span(x).subspan(std::size_t{pair / mixture_used} * columns, columns);
        for (uint32_t m = 0; m < shape.height; ++m) {
            Bounded g = expert_product(gate, expert, m, own, code_bytes_of(trial, use));
            Bounded u = expert_product(up, expert, m, own, code_bytes_of(trial, use));
            g.value += shape.biases ? gate_bias[expert * shape.height + m] : 0;
            u.value += shape.biases ? up_bias[expert * shape.height + m] : 0;
            expected.push_back(activated_of(shape.kind, g, u));
        }
    }
    trial.expect_rows(output, 0, expected);
    if (!shape.halves)
        return;
    expect_blocks(trial, operation.output.halves, expected);
    trial.expect_words(operation.counters, zeros);
}

void pose_down(Trial& trial, const KernelUse& use, uint32_t rows, bool with_bias) {
    constexpr uint32_t height = 45;
    constexpr uint32_t columns = 2 * tile_columns;
    Noise noise(17);
    const NoiseMatrices stack = put_weights(
        trial, noise, {.layout = use.layout, .rows = height, .columns = columns, .count = mixture_experts});
    const Mixture mixture = mixture_of(trial, noise, rows);
    const uint32_t pairs = mixture.choice.pairs();
    const std::vector<float> x = noise.numbers(uint64_t{pairs} * columns);
    const std::vector<float> before = noise.numbers(uint64_t{rows} * height);
    const std::vector<float> bias = noise.numbers(uint64_t{mixture_experts} * height);
    const Activations output = trial.put_rows(before, rows, height);
    ExpertDown operation{.weights = {.matrices = stack.device, .count = mixture_experts},
                         .input = put_input(trial, x, pairs, columns, use.layout),
                         .output = output,
                         .choice = mixture.choice};
    if (with_bias)
        operation.bias = trial.put(bias);
    expert_down({trial.library(), trial.recorder()}, operation);
    std::vector<Bounded> expected;
    for (uint32_t at = 0; at < before.size(); ++at) {
        const uint32_t m = at % height;
        Bounded sum{before[at], 8 * rounding};
        for (uint32_t pair = at / height * mixture_used; pair < (at / height + 1) * mixture_used; ++pair) {
            const double weight = mixture.routing_weights[pair];
            const uint32_t expert = mixture.chosen[pair];
            const Bounded one =
                expert_product(stack, expert, m, std::span(x).subspan(std::size_t{pair} * columns, columns),
                               code_bytes_of(trial, use));
            const double added = with_bias ? bias[expert * height + m] : 0;
            sum.value += weight * (one.value + added);
            sum.tolerance += std::abs(weight) * (one.tolerance + 8 * rounding * (std::abs(one.value) + 1));
        }
        expected.push_back(sum);
    }
    trial.expect_rows(output, 0, expected);
}

} // namespace

void pose_expert_linear(Trial& trial, const KernelUse& use) {
    pose(trial, use, 1, ExpertInput::row);  // a tile is one pair
    pose(trial, use, 9, ExpertInput::pair); // a tile is eight, or four
    if (use.layout.arrangement != Arrangement::tiles)
        pose_heads_product(trial, use); // the same kernel
}

void pose_heads_product(Trial& trial, const KernelUse& use) {
    pose_heads(trial, use, 1);
    pose_heads(trial, use, 11);
}

/// The kernel has expert_linear() of matrices in tiles as well.
void pose_expert_gate_up(Trial& trial, const KernelUse& use) {
    pose_gate_up(trial, use,
                 {.rows = 1, .height = tile_columns, .kind = Gate::silu, .halves = true, .biases = false});
    pose_gate_up(trial, use,
                 {.rows = 9, .height = 45, .kind = Gate::clamped_silu, .halves = false, .biases = true});
    pose_expert_linear(trial, use);
}

void pose_expert_down(Trial& trial, const KernelUse& use) {
    pose_down(trial, use, 1, false);
    pose_down(trial, use, 3, true);
}

} // namespace etna::kernels
