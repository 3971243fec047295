#include "core/model/blocks/experts.hpp"

#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/model/nan_probe.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::model {
namespace {

bool in_tiles(const kernels::MatrixStack& stack) {
    return stack.matrices.layout.arrangement == kernels::Arrangement::tiles;
}

/// Rows of a step that are routed in one dispatch.
bool routes_at_once(const Recording& recording, const ExpertsBlock& block, const RowRange& range) {
    return range.path == kernels::RowPath::decode &&
           kernels::expert_router_usable(recording.launcher.target(), block.router.weight);
}

/// Rows whose down projections and their sum are one step: it reads an expert's matrix once for each row, so
/// that prompts take two steps, which read it once for a group of pairs.
bool sums_at_once(const ExpertsBlock& block, const RowRange& range) {
    return in_tiles(block.down) && range.path == kernels::RowPath::decode;
}

} // namespace

void declare_experts(TensorTable& table, const Config& config, uint32_t layer, ExpertTensors tensors) {
    const ExpertConfig& experts = config.experts;
    const auto name = [&](std::string_view part) { return fmt::format("blk.{}.{}", layer, part); };
    table.vector(name(config.feed_forward_norm_of(layer)) + ".weight", config.width);
    table.exact_matrix(name("ffn_gate_inp.weight"), experts.count, config.width);
    std::vector<TensorPart> parts{{name("ffn_up_exps.weight"), experts.feed_forward}};
    if (experts.gated)
        parts.insert(parts.begin(), {name("ffn_gate_exps.weight"), experts.feed_forward});
    if (experts.fused_gate_up) {
        table.fused_stack(name("ffn_gate_up_exps.weight"), experts.count, std::move(parts), config.width);
    } else {
        for (const TensorPart& part : parts)
            table.stack(part.name, experts.count, part.rows, config.width);
    }
    table.stack(name("ffn_down_exps.weight"), experts.count, config.width, experts.feed_forward);
    if (experts.selection_bias)
        table.vector(name("exp_probs_b.bias"), experts.count);
    if (experts.shared_feed_forward > 0)
        declare_shared_expert(table, config, layer);
    if (!tensors.biases)
        return;
    table.vector(name("ffn_gate_inp.bias"), experts.count);
    table.vectors(name("ffn_gate_exps.bias"), experts.count, experts.feed_forward);
    table.vectors(name("ffn_up_exps.bias"), experts.count, experts.feed_forward);
    table.vectors(name("ffn_down_exps.bias"), experts.count, config.width);
}

ExpertsBlock experts_block(const Weights& weights, const Config& config, uint32_t layer) {
    const auto name = [&](std::string_view part) { return fmt::format("blk.{}.{}", layer, part); };
    return {.norm = weights.vector(name(config.feed_forward_norm_of(layer)) + ".weight"),
            .router = {.weight = weights.matrix(name("ffn_gate_inp.weight")),
                       .bias = weights.find_vector(name("ffn_gate_inp.bias")),
                       .factors = kernels::OperandPrecision::f32}, // rounding could change the chosen expert
            .gate = config.experts.gated ? std::optional(weights.stack(name("ffn_gate_exps.weight")))
                                         : std::nullopt,
            .up = weights.stack(name("ffn_up_exps.weight")),
            .down = weights.stack(name("ffn_down_exps.weight")),
            .gate_bias = weights.find_vector(name("ffn_gate_exps.bias")),
            .up_bias = weights.find_vector(name("ffn_up_exps.bias")),
            .down_bias = weights.find_vector(name("ffn_down_exps.bias")),
            .shared = shared_expert(weights, config, layer),
            .gate_kind = config.gate,
            .experts_per_token = config.experts.experts_per_token,
            .rule = {.scores = config.experts.scores,
                     .normalised = config.experts.normalised,
                     .scale = config.experts.scale,
                     .selection_bias = weights.find_vector(name("exp_probs_b.bias")),
                     .expert_scales = weights.find_vector(name("ffn_down_exps.scale")),
                     .groups = config.experts.groups,
                     .groups_used = config.experts.groups_used},
            .epsilon = config.rms_epsilon,
            .nan_probe = feed_forward_nan_probe(layer)};
}

bool reads_packed(const ExpertsBlock& block) {
    return (block.gate && in_tiles(*block.gate)) || in_tiles(block.up);
}

ExpertRows take_expert_rows(const Recording& recording, const ExpertsBlock& block) {
    const uint32_t rows = recording.step.rows;
    const uint32_t pairs = rows * block.experts_per_token;
    const uint64_t pair_bytes = uint64_t{pairs} * sizeof(uint32_t);
    return {.router = recording.rows(block.up.count),
            .choice = {.experts = recording.arena.bytes(pair_bytes),
                       .routing_weights = recording.arena.bytes(pair_bytes),
                       .count = block.up.count,
                       .experts_per_token = block.experts_per_token,
                       .rows = rows},
            .inner = recording.matrix_input(pairs, block.up.matrices.rows)};
}

void record_routing(const Recording& recording, const ExpertsBlock& block, const ExpertRows& rows,
                    const kernels::Activations& input) {
    for (const RowRange& range : recording.step.row_ranges) {
        if (routes_at_once(recording, block, range)) {
            kernels::expert_router(recording.launcher, {.weight = block.router.weight,
                                                        .bias = block.router.bias,
                                                        .input = input,
                                                        .router = rows.router,
                                                        .first = range.first,
                                                        .choice = rows.choice.part(range.first, range.count),
                                                        .rule = block.rule,
                                                        .counters = recording.arena.zeros(
                                                            uint64_t{range.count} * sizeof(uint32_t))});
            continue;
        }
        kernels::linear(recording.launcher, {.weight = block.router.weight,
                                             .input = input,
                                             .output = rows.router,
                                             .first = range.first,
                                             .count = range.count,
                                             .path = range.path,
                                             .bias = block.router.bias,
                                             .factors = block.router.factors});
    }
    for (const RowRange& range : recording.step.row_ranges) {
        if (routes_at_once(recording, block, range))
            continue;
        kernels::expert_route(recording.launcher, {.router = rows.router.part(range.first, range.count),
                                                   .choice = rows.choice.part(range.first, range.count),
                                                   .rule = block.rule});
    }
}

std::optional<kernels::ExpertGroups> record_groups(const Recording& recording, const ExpertsBlock& block,
                                                   const kernels::ExpertRouting& choice) {
    const auto stacks = {&block.up, &block.down, block.gate ? &*block.gate : &block.up};
    const auto tiled = std::count_if(stacks.begin(), stacks.end(),
                                     [](const kernels::MatrixStack* stack) { return in_tiles(*stack); });
    const auto arrangement = tiled > 0 ? kernels::Arrangement::tiles : block.up.matrices.layout.arrangement;
    const uint32_t tile_pairs = kernels::expert_tile_pairs(choice.pairs(), choice.count, arrangement);
    if (tiled == std::ssize(stacks) && tile_pairs == 1)
        return std::nullopt;
    const uint64_t bytes = kernels::expert_group_bytes(choice.rows, choice.experts_per_token);
    const kernels::ExpertGroups groups{.range = recording.arena.bytes(bytes), .tile_pairs = tile_pairs};
    kernels::expert_group(recording.launcher, choice, groups);
    return groups;
}

namespace {

/// Products of gate and up in one step.
void record_gate_up(const Recording& recording, const ExpertsBlock& block, const ExpertRows& rows,
                    const std::optional<kernels::ExpertGroups>& groups,
                    const std::optional<kernels::GateBiases>& biases) {
    const uint64_t counter_bytes = kernels::expert_counter_bytes(rows.choice.pairs(), rows.inner.columns);
    kernels::expert_gate_up(recording.launcher, {.gate = *block.gate,
                                                 .up = block.up,
                                                 .input = recording.activations.hidden,
                                                 .output = rows.inner,
                                                 .kind = block.gate_kind,
                                                 .biases = biases,
                                                 .packed = in_tiles(block.down),
                                                 .counters = recording.arena.zeros(counter_bytes),
                                                 .choice = rows.choice,
                                                 .groups = groups});
}

} // namespace

void record_inner(const Recording& recording, const ExpertsBlock& block, const ExpertRows& rows,
                  const std::optional<kernels::ExpertGroups>& groups) {
    std::optional<kernels::GateBiases> biases;
    if (block.gate_bias && block.up_bias) {
        biases = {.gate = *block.gate_bias,
                  .up = *block.up_bias,
                  .experts = rows.choice.experts,
                  .expert_count = rows.choice.count};
    }
    if (block.gate && in_tiles(*block.gate) && block.gate->matrices.layout == block.up.matrices.layout) {
        record_gate_up(recording, block, rows, groups, biases);
        return;
    }
    const auto project = [&](const kernels::MatrixStack& weights, const kernels::Activations& output) {
        kernels::expert_linear(recording.launcher, {.weights = weights,
                                                    .input = recording.activations.hidden,
                                                    .output = output,
                                                    .reads = kernels::ExpertInput::row,
                                                    .choice = rows.choice,
                                                    .groups = groups});
    };
    kernels::Activations up = rows.inner;
    if (block.gate) {
        up = recording.arena.rows(rows.choice.pairs(), rows.inner.columns);
        project(*block.gate, rows.inner);
    }
    project(block.up, up);
    kernels::gate_multiply(recording.launcher, {.gate = rows.inner,
                                                .up = up,
                                                .first = 0,
                                                .count = rows.choice.pairs(),
                                                .kind = block.gate_kind,
                                                .biases = biases,
                                                .packed = in_tiles(block.down)});
}

void record_sum(const Recording& recording, const ExpertsBlock& block, const ExpertRows& rows,
                const std::optional<kernels::ExpertGroups>& groups, const kernels::Activations& output,
                kernels::Store store) {
    const uint32_t per_token = block.experts_per_token;
    bool has_others = false;
    for (const RowRange& range : recording.step.row_ranges) {
        if (!sums_at_once(block, range)) {
            has_others = has_others || range.count > 0;
            continue;
        }
        kernels::expert_down(recording.launcher,
                             {.weights = block.down,
                              .input = rows.inner.part(range.first * per_token, range.count * per_token),
                              .output = output.part(range.first, range.count),
                              .choice = rows.choice.part(range.first, range.count),
                              .store = store,
                              .bias = block.down_bias});
    }
    if (!has_others)
        return;
    const kernels::Activations outputs = recording.arena.rows(rows.choice.pairs(), output.columns);
    kernels::expert_linear(recording.launcher, // of all pairs, because these are grouped
                           {.weights = block.down,
                            .input = rows.inner,
                            .output = outputs,
                            .reads = kernels::ExpertInput::pair,
                            .choice = rows.choice,
                            .groups = groups});
    for (const RowRange& range : recording.step.row_ranges) {
        if (sums_at_once(block, range))
            continue;
        kernels::expert_sum(recording.launcher,
                            {.input = outputs.part(range.first * per_token, range.count * per_token),
                             .output = output.part(range.first, range.count),
                             .choice = rows.choice.part(range.first, range.count),
                             .store = store,
                             .bias = block.down_bias});
    }
}

void record(const Recording& recording, const ExpertsBlock& block) {
    const Arena::Scope scope(recording.arena);
    const ExpertRows rows = take_expert_rows(recording, block);
    record_norm(recording, {block.norm, block.epsilon, block.nan_probe},
                reads_packed(block) || (block.shared && reads_packed(*block.shared)),
                reads_packed(block) ? kernels::PackedForm::blocks : kernels::PackedForm::f16);
    SharedRows shared;
    if (block.shared)
        shared = record_shared_projections(recording, *block.shared);
    record_routing(recording, block, rows, recording.activations.hidden);
    if (block.shared)
        record_shared_product(recording, *block.shared, shared);
    const auto groups = record_groups(recording, block, rows.choice);
    record_inner(recording, block, rows, groups);
    if (block.shared)
        record_shared_output(recording, *block.shared, shared);
    record_sum(recording, block, rows, groups, recording.activations.residual, kernels::Store::add);
}

} // namespace etna::model
