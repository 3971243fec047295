#pragma once

#include "core/kernels/layout.hpp"
#include "core/kernels/library.hpp"
#include "core/kernels/operation.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/vk/recorder.hpp"

#include <cstdint>
#include <optional>

// Mixture of experts: each row is routed on the device to a few of many matrices; only those are read. A pair
// is a row and one of its choices: row x experts_per_token + choice. The rules of rows.hpp apply. The
// caller records: expert_router, or linear and expert_route; expert_group, where pairs
// are grouped; expert_gate_up, or expert_linear for gate and up and gate_multiply; expert_down, or
// expert_linear and expert_sum. Each takes one numeric path: no sum depends on the number of rows.
namespace etna::kernels {

constexpr uint32_t experts_max = 1024;
constexpr uint32_t experts_per_token_max = 32; ///< by one row
constexpr uint32_t expert_pairs_max = 65535;
constexpr uint32_t expert_groups_max = 64;

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
    /// Those of rows [first, first + row_count).
    [[nodiscard]] ExpertRouting part(uint32_t first, uint32_t row_count) const {
        const uint64_t row_bytes = uint64_t{experts_per_token} * 4;
        ExpertRouting some = *this;
        some.experts = experts.part(first * row_bytes, row_count * row_bytes);
        some.routing_weights = routing_weights.part(first * row_bytes, row_count * row_bytes);
        some.rows = row_count;
        return some;
    }
};

/// How values r of a router become choices and routing weights.
struct RoutingRule {
    enum class Scores : uint8_t {
        softmax, ///< the largest r, and the softmax over them (arXiv 1701.06538, 2505.09388)
        sigmoid, ///< the largest s = 1 / (1 + exp(-r)), and s / max(sum of the chosen s, 2^-14)
                 ///< (arXiv 2412.19437)
    };
    Scores scores = Scores::softmax;
    /// False: the softmax is over all experts of the row (Qwen2 MoE, arXiv 2407.10671); s is not divided.
    bool normalised = true;
    float scale = 1; ///< of the routing weights
    /// f32 [experts]: choices are the largest s + selection_bias; with sigmoid only.
    std::optional<vk::Range> selection_bias = std::nullopt;
    /// f32 [experts]: the routing weights are also multiplied by those of their experts (Gemma 4).
    std::optional<vk::Range> expert_scales = std::nullopt;
    /// Groups of neighbours with equally many experts. If there are several, only the experts of the
    /// `groups_used` best are chosen from, the first among equals: those with the largest r (arXiv
    /// 2405.04434), or with sigmoid the largest sum of their two largest s + selection_bias (arXiv
    /// 2412.19437).
    uint32_t groups = 1;
    uint32_t groups_used = 1;

    [[nodiscard]] bool is_grouped() const { return groups > groups_used; }
};

/// Selects the `experts_per_token` largest values of each row of `router`, the smaller id first among equals,
/// and their weights, by the rule.
struct ExpertRoute {
    Activations router;   ///< [rows, count]
    ExpertRouting choice; ///< written
    RoutingRule rule = {};
};
void expert_route(const Launcher& launcher, const ExpertRoute& operation);

/// router[row] = W input[row] + bias for rows [first, first + choice.rows), and their expert_route(), in one
/// dispatch of generation rows. The order of a sum depends on the shape only.
struct ExpertRouter {
    Matrix weight; ///< [experts, columns], for which expert_router_usable() holds
    std::optional<vk::Range> bias = std::nullopt; ///< f32 [experts]
    Activations input;
    Activations router; ///< [rows, experts]
    uint32_t first = 0;
    ExpertRouting choice; ///< of these rows only, written
    RoutingRule rule = {};
    vk::Range counters = {}; ///< u32 [choice.rows]: zeros, and zeros again afterwards
};
void expert_router(const Launcher& launcher, const ExpertRouter& operation);
/// Whether expert_router() takes a matrix: f32 in rows, in one part, and the kernel is trusted. Pure.
bool expert_router_usable(const PlanTarget& target, const Matrix& weight);

/// Pairs sorted by expert and split into tiles, one workgroup's work each.
struct ExpertGroups {
    vk::Range range = {};    ///< scratch of expert_group_bytes()
    uint32_t tile_pairs = 1; ///< of a tile: expert_tile_pairs()
};
uint64_t expert_group_bytes(uint32_t rows, uint32_t experts_per_token);
/// Pairs in a tile: the average per expert, up to what the kernels of an arrangement can take. Pure; does not
/// affect any sum.
uint32_t expert_tile_pairs(uint32_t pairs, uint32_t experts, Arrangement arrangement);
void expert_group(const Launcher& launcher, const ExpertRouting& choice, const ExpertGroups& groups);

/// The input row that a pair reads.
enum class ExpertInput : uint8_t {
    row,  ///< its row's
    pair, ///< its own
};

/// y[pair] = W_expert(pair) x[row or pair]. Matrices in tiles read the input's packed form, others its
/// elements.
struct ExpertLinear {
    MatrixStack weights;
    Activations input;
    Activations output; ///< [pairs, rows of a matrix]
    ExpertInput reads = ExpertInput::row;
    ExpertRouting choice; ///< `groups` was made from it
    /// Needed unless the matrices are in tiles; without, each pair reads its expert's matrix.
    std::optional<ExpertGroups> groups = std::nullopt;
};
void expert_linear(const Launcher& launcher, const ExpertLinear& operation);

/// y[pair] = act(Gate_expert(pair) x[row] + bias) * (Up_expert(pair) x[row] + bias), for matrices in tiles of
/// one layout and shape.
struct ExpertGateUp {
    MatrixStack gate;
    MatrixStack up;
    Activations input;  ///< its packed form is read
    Activations output; ///< [pairs, rows of a matrix]
    Gate kind = Gate::silu;
    std::optional<GateBiases> biases = std::nullopt; ///< `experts` are those of `choice`
    bool packed = false;                             ///< also writes the packed form of `output`
    vk::Range counters = {};                         ///< expert_counter_bytes(), zeros; read with `packed`
    ExpertRouting choice;
    std::optional<ExpertGroups> groups = std::nullopt; ///< without, each pair reads its expert's matrices
};
void expert_gate_up(const Launcher& launcher, const ExpertGateUp& operation);
/// Bytes of counters that are zero before and after each expert_gate_up() of up to `pairs` pairs.
uint64_t expert_counter_bytes(uint32_t pairs, uint32_t rows);

/// output[row] (=|+=) sum over its pairs of routing weight x (W_expert(pair) input[pair] + the bias of the
/// pair's expert), for matrices in tiles and few rows: each row reads its experts' matrices.
struct ExpertDown {
    MatrixStack weights;
    Activations input; ///< [pairs, columns of a matrix]; its packed form is read
    Activations output;
    ExpertRouting choice;
    Store store = Store::add;
    std::optional<vk::Range> bias = std::nullopt; ///< f32 [choice.count][rows of a matrix]
};
void expert_down(const Launcher& launcher, const ExpertDown& operation);

/// output[row] (=|+=) sum over its pairs of routing weight x (input[pair] + the bias of the pair's expert),
/// in the order of the choices.
struct ExpertSum {
    Activations input; ///< [pairs, width]
    Activations output;
    ExpertRouting choice;
    Store store = Store::add;
    std::optional<vk::Range> bias = std::nullopt; ///< f32 [choice.count][width]
};
void expert_sum(const Launcher& launcher, const ExpertSum& operation);

extern const Operation expert_route_operation;
extern const Operation expert_router_operation;
extern const Operation expert_group_operation;
extern const Operation expert_linear_operation;
extern const Operation expert_gate_up_operation;
extern const Operation expert_down_operation;
extern const Operation expert_sum_operation;

} // namespace etna::kernels
