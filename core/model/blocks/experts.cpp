#include "core/model/blocks/experts.hpp"

#include "core/kernels/operations/expert_matrix.hpp"
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

namespace {

/// Whether prefill rows multiply on matrix units.
bool has_units(const Recording& recording, const ExpertsBlock& block) {
    const auto on_units = [&](const kernels::MatrixStack& stack) {
        return kernels::experts_on_units(recording.launcher.target(), stack.matrices.layout);
    };
    return on_units(block.up) && on_units(block.down) &&
           (!block.gate || block.gate->matrices.layout == block.up.matrices.layout);
}

/// The rows of each path: decode rows and others.
std::vector<ExpertShare> shares_of(const Recording& recording, const ExpertsBlock& block,
                                   const kernels::ExpertRouting& choice, const kernels::Activations& inner) {
    if (!has_units(recording, block))
        return {{.choice = choice, .inner = inner}};
    std::vector<ExpertShare> shares;
    const uint32_t per_token = block.experts_per_token;
    for (const RowRange& range : recording.step.row_ranges) {
        if (range.count > 0) {
            shares.push_back({.first = range.first,
                              .choice = choice.part(range.first, range.count),
                              .inner = inner.part(range.first * per_token, range.count * per_token),
                              .is_on_units = range.path == kernels::RowPath::prefill});
        }
    }
    return shares;
}

} // namespace

kernels::PackedForm prefill_form(const Recording& recording, const ExpertsBlock& block) {
    return reads_packed(block) && !has_units(recording, block) ? kernels::PackedForm::blocks
                                                               : kernels::PackedForm::f16;
}

ExpertRows take_expert_rows(const Recording& recording, const ExpertsBlock& block) {
    const uint32_t rows = recording.step.rows;
    const uint32_t pairs = rows * block.experts_per_token;
    const uint64_t pair_bytes = uint64_t{pairs} * sizeof(uint32_t);
    ExpertRows taken{.router = recording.rows(block.up.count),
                     .choice = {.experts = recording.arena.bytes(pair_bytes),
                                .routing_weights = recording.arena.bytes(pair_bytes),
                                .count = block.up.count,
                                .experts_per_token = block.experts_per_token,
                                .rows = rows},
                     .shares = {}};
    const kernels::Activations inner = recording.matrix_input(pairs, block.up.matrices.rows);
    taken.shares = shares_of(recording, block, taken.choice, inner);
    return taken;
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

namespace {

/// Pairs of a tile; empty if the share's pairs need no groups.
std::optional<uint32_t> tile_pairs_of(const Recording& recording, const ExpertsBlock& block,
                                      const ExpertShare& share) {
    const uint32_t pairs = share.choice.pairs();
    if (share.is_on_units)
        return kernels::unit_tile_pairs(recording.launcher.target(), pairs, share.choice.count);
    const auto stacks = {&block.up, &block.down, block.gate ? &*block.gate : &block.up};
    const auto tiled = std::count_if(stacks.begin(), stacks.end(),
                                     [](const kernels::MatrixStack* stack) { return in_tiles(*stack); });
    const auto arrangement = tiled > 0 ? kernels::Arrangement::tiles : block.up.matrices.layout.arrangement;
    const uint32_t tile_pairs = kernels::expert_tile_pairs(pairs, share.choice.count, arrangement);
    return tiled == std::ssize(stacks) && tile_pairs == 1 ? std::nullopt : std::optional(tile_pairs);
}

std::optional<kernels::GateBiases> biases_of(const ExpertsBlock& block, const ExpertShare& share) {
    if (!block.gate_bias || !block.up_bias)
        return std::nullopt;
    return kernels::GateBiases{.gate = *block.gate_bias,
                               .up = *block.up_bias,
                               .experts = share.choice.experts,
                               .expert_count = share.choice.count};
}

/// The rows of an activation of the step that belong to a share.
kernels::Activations rows_of(const ExpertShare& share, const kernels::Activations& all) {
    return all.part(share.first, share.choice.rows);
}

/// One product of each pair of the share.
void record_product(const Recording& recording, const ExpertShare& share, const kernels::MatrixStack& weights,
                    const kernels::Activations& input, const kernels::Activations& output,
                    kernels::ExpertInput reads) {
    if (share.is_on_units) {
        kernels::expert_matrix(recording.launcher, {.weights = weights,
                                                    .input = input,
                                                    .output = output,
                                                    .reads = reads,
                                                    .choice = share.choice,
                                                    .groups = *share.groups});
        return;
    }
    kernels::expert_linear(recording.launcher, {.weights = weights,
                                                .input = input,
                                                .output = output,
                                                .reads = reads,
                                                .choice = share.choice,
                                                .groups = share.groups});
}

/// Products of gate and up in one step.
void record_gate_up(const Recording& recording, const ExpertsBlock& block, const ExpertShare& share) {
    const kernels::Activations input = rows_of(share, recording.activations.hidden);
    const auto biases = biases_of(block, share);
    if (share.is_on_units) {
        kernels::expert_matrix(recording.launcher, {.weights = *block.gate,
                                                    .up = block.up,
                                                    .input = input,
                                                    .output = share.inner,
                                                    .kind = block.gate_kind,
                                                    .biases = biases,
                                                    .choice = share.choice,
                                                    .groups = *share.groups});
        return;
    }
    const uint64_t counter_bytes = kernels::expert_counter_bytes(share.choice.pairs(), share.inner.columns);
    kernels::expert_gate_up(recording.launcher, {.gate = *block.gate,
                                                 .up = block.up,
                                                 .input = input,
                                                 .output = share.inner,
                                                 .kind = block.gate_kind,
                                                 .biases = biases,
                                                 .packed = in_tiles(block.down),
                                                 .counters = recording.arena.zeros(counter_bytes),
                                                 .choice = share.choice,
                                                 .groups = share.groups});
}

void record_inner(const Recording& recording, const ExpertsBlock& block, const ExpertShare& share) {
    if (block.gate && in_tiles(*block.gate) && block.gate->matrices.layout == block.up.matrices.layout) {
        record_gate_up(recording, block, share);
        return;
    }
    const kernels::Activations input = rows_of(share, recording.activations.hidden);
    const uint32_t pairs = share.choice.pairs();
    kernels::Activations up = share.inner;
    if (block.gate) {
        up = recording.arena.rows(pairs, share.inner.columns);
        record_product(recording, share, *block.gate, input, share.inner, kernels::ExpertInput::row);
    }
    record_product(recording, share, block.up, input, up, kernels::ExpertInput::row);
    kernels::gate_multiply(recording.launcher, {.gate = share.inner,
                                                .up = up,
                                                .first = 0,
                                                .count = pairs,
                                                .kind = block.gate_kind,
                                                .biases = biases_of(block, share),
                                                .packed = in_tiles(block.down) && !share.is_on_units});
}

/// The part of a row range that belongs to a share, counted from the share's first row; count 0: none.
RowRange within(const ExpertShare& share, RowRange range) {
    const uint32_t first = std::max(range.first, share.first);
    const uint32_t end = std::min(range.first + range.count, share.first + share.choice.rows);
    range.first = first - share.first;
    range.count = end > first ? end - first : 0;
    return range;
}

void record_sum(const Recording& recording, const ExpertsBlock& block, const ExpertShare& share,
                const kernels::Activations& output, kernels::Store store) {
    const uint32_t per_token = block.experts_per_token;
    const kernels::Activations own = rows_of(share, output);
    bool has_others = false;
    for (const RowRange& all : recording.step.row_ranges) {
        const RowRange range = within(share, all);
        if (range.count == 0)
            continue;
        if (!sums_at_once(block, range)) {
            has_others = true;
            continue;
        }
        kernels::expert_down(recording.launcher,
                             {.weights = block.down,
                              .input = share.inner.part(range.first * per_token, range.count * per_token),
                              .output = own.part(range.first, range.count),
                              .choice = share.choice.part(range.first, range.count),
                              .store = store,
                              .bias = block.down_bias});
    }
    if (!has_others)
        return;
    const kernels::Activations outputs = recording.arena.rows(share.choice.pairs(), output.columns);
    record_product(recording, share, block.down, share.inner,
                   outputs, // of all pairs, because these are grouped
                   kernels::ExpertInput::pair);
    for (const RowRange& all : recording.step.row_ranges) {
        const RowRange range = within(share, all);
        if (range.count == 0 || sums_at_once(block, range))
            continue;
        kernels::expert_sum(recording.launcher,
                            {.input = outputs.part(range.first * per_token, range.count * per_token),
                             .output = own.part(range.first, range.count),
                             .choice = share.choice.part(range.first, range.count),
                             .store = store,
                             .bias = block.down_bias});
    }
}

} // namespace

void record_groups(const Recording& recording, const ExpertsBlock& block, ExpertRows& rows) {
    for (ExpertShare& share : rows.shares) {
        const auto tile_pairs = tile_pairs_of(recording, block, share);
        if (!tile_pairs)
            continue;
        const uint64_t bytes = kernels::expert_group_bytes(share.choice.rows, share.choice.experts_per_token);
        share.groups = {.range = recording.arena.bytes(bytes), .tile_pairs = *tile_pairs};
        kernels::expert_group(recording.launcher, share.choice, *share.groups);
    }
}

void record_inner(const Recording& recording, const ExpertsBlock& block, const ExpertRows& rows) {
    for (const ExpertShare& share : rows.shares)
        record_inner(recording, block, share);
}

void record_sum(const Recording& recording, const ExpertsBlock& block, const ExpertRows& rows,
                const kernels::Activations& output, kernels::Store store) {
    for (const ExpertShare& share : rows.shares)
        record_sum(recording, block, share, output, store);
}

void record(const Recording& recording, const ExpertsBlock& block) {
    const Arena::Scope scope(recording.arena);
    ExpertRows rows = take_expert_rows(recording, block);
    record_norm(recording, {block.norm, block.epsilon, block.nan_probe},
                reads_packed(block) || (block.shared && reads_packed(*block.shared)),
                prefill_form(recording, block));
    SharedRows shared;
    if (block.shared)
        shared = record_shared_projections(recording, *block.shared);
    record_routing(recording, block, rows, recording.activations.hidden);
    if (block.shared)
        record_shared_product(recording, *block.shared, shared);
    record_groups(recording, block, rows);
    record_inner(recording, block, rows);
    if (block.shared)
        record_shared_output(recording, *block.shared, shared);
    record_sum(recording, block, rows, recording.activations.residual, kernels::Store::add);
}

} // namespace etna::model
