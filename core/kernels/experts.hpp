#pragma once

#include "core/kernels/layout.hpp"
#include "core/kernels/library.hpp"
#include "core/vk/recorder.hpp"

#include <cstdint>
#include <optional>

// Mixture of experts: each row is routed on the device to a few of many matrices; only those are read. A pair
// is a row and one of its choices: row x experts_per_token + choice. The rules of rows.hpp apply. The
// caller records, with barriers between: expert_route, expert_group, expert_linear (as often as there are
// matrices), expert_sum. All take one numeric path: no sum depends on the number of rows.
namespace etna::kernels {

constexpr uint32_t experts_max = 1024;
constexpr uint32_t experts_per_token_max = 32; ///< by one row
constexpr uint32_t expert_pairs_max = 65535;

/// Matrices of one shape and layout, contiguous on the device and selected by index.
struct MatrixStack {
    Matrix matrices; ///< shape of each; ranges of all: [count] x packed_bytes() of weights, and of scales
    uint32_t count = 0;
};

/// The experts of each row and their weights; at most experts_max and experts_per_token_max.
struct ExpertRouting {
    vk::Range experts = {};         ///< u32 [rows][experts_per_token]
    vk::Range routing_weights = {}; ///< f32 [rows][experts_per_token]
    uint32_t count = 0;             ///< of experts
    uint32_t experts_per_token = 0;
    uint32_t rows = 0;

    [[nodiscard]] uint32_t pairs() const { return rows * experts_per_token; }
};

/// Selects the `experts_per_token` largest values of each row of `router`, the smaller id first among equals,
/// and as their weights the softmax over them. Source: arXiv 1701.06538, 2505.09388.
struct ExpertRoute {
    Activations router;   ///< [rows, count]
    ExpertRouting choice; ///< written
    bool normalised =
        true; ///< false: the softmax is over all experts of the row (Qwen2 MoE, arXiv 2407.10671)
};
void expert_route(Library& library, vk::Recorder& recorder, const ExpertRoute& operation);

/// Pairs sorted by expert and split into tiles, one workgroup's work each.
struct ExpertGroups {
    vk::Range range = {}; ///< scratch of expert_group_bytes()
};
uint64_t expert_group_bytes(uint32_t rows, uint32_t experts_per_token);
/// Pairs in a tile: the average per expert. Pure; does not affect any sum.
uint32_t expert_tile_pairs(uint32_t pairs, uint32_t experts);
void expert_group(Library& library, vk::Recorder& recorder, const ExpertRouting& choice,
                  const ExpertGroups& groups);

/// The input row that a pair reads.
enum class ExpertInput : uint8_t {
    row,  ///< its row's
    pair, ///< its own
};

/// y[pair] = W_expert(pair) x[row or pair].
struct ExpertLinear {
    MatrixStack weights;
    Activations input;
    Activations output; ///< [pairs, rows of a matrix]
    ExpertInput reads = ExpertInput::row;
    ExpertRouting choice; ///< counts only; `groups` was made from it
    ExpertGroups groups;
};
void expert_linear(Library& library, vk::Recorder& recorder, const ExpertLinear& operation);

/// output[row] += sum over its pairs of routing weight x (input[pair] + the bias of the pair's expert), in
/// the order of the choices.
struct ExpertSum {
    Activations input; ///< [pairs, width]
    Activations output;
    ExpertRouting choice;
    std::optional<vk::Range> bias = std::nullopt; ///< f32 [choice.count][width]
};
void expert_sum(Library& library, vk::Recorder& recorder, const ExpertSum& operation);

} // namespace etna::kernels
