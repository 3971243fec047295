#include "core/model/blocks/feed_forward.hpp"

#include "core/kernels/operations/altup.hpp"
#include "core/kernels/operations/fused_linear.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/model/nan_probe.hpp"

#include <array>

#include <fmt/format.h>

namespace etna::model {
void declare_feed_forward(TensorTable& table, const Config& config, uint32_t layer,
                          FeedForwardTensors tensors) {
    table.vector(fmt::format("blk.{}.{}.weight", layer, config.feed_forward_norm_of(layer)), config.width);
    if (!tensors.gate) {
        table.matrix(fmt::format("blk.{}.ffn_up.weight", layer), config.layers[layer].feed_forward,
                     config.width);
    } else {
        table.projections(tensors.storage, fmt::format("blk.{}.ffn_up.weight", layer),
                          {{fmt::format("blk.{}.ffn_gate.weight", layer), config.layers[layer].feed_forward},
                           {fmt::format("blk.{}.ffn_up.weight", layer), config.layers[layer].feed_forward}},
                          config.width);
    }
    table.matrix(fmt::format("blk.{}.ffn_down.weight", layer), config.width,
                 config.layers[layer].feed_forward);
    if (tensors.post_norm)
        table.vector(fmt::format("blk.{}.post_ffw_norm.weight", layer), config.width);
}

FeedForwardBlock feed_forward_block(const Weights& weights, const Config& config, uint32_t layer) {
    const auto linear = [&](const char* name) {
        return LinearWeights{.weight = weights.matrix(fmt::format("blk.{}.{}.weight", layer, name)),
                             .bias = weights.find_vector(fmt::format("blk.{}.{}.bias", layer, name))};
    };
    return {.norm = {.weight = weights.vector(
                         fmt::format("blk.{}.{}.weight", layer, config.feed_forward_norm_of(layer))),
                     .epsilon = config.rms_epsilon,
                     .nan_probe = feed_forward_nan_probe(layer),
                     .bias = weights.find_vector(
                         fmt::format("blk.{}.{}.bias", layer, config.feed_forward_norm_of(layer))),
                     .subtracts_mean = config.has_layer_norms,
                     .replaces_residual = config.has_post_norms},
            .gate = weights.has_matrix(tensor_name(layer, "ffn_gate.weight"))
                        ? std::optional(linear("ffn_gate"))
                        : std::nullopt,
            .up = linear("ffn_up"),
            .down = {.weights = linear("ffn_down"),
                     .post_norm = {.weight =
                                       weights.find_vector(fmt::format("blk.{}.post_ffw_norm.weight", layer)),
                                   .epsilon = config.rms_epsilon},
                     .next_norm = std::nullopt},
            .gate_kind = config.gate,
            .gate_deviations = config.layers[layer].gate_deviations};
}

bool reads_packed(const FeedForwardBlock& block) {
    return (block.gate && reads_packed(*block.gate)) || reads_packed(block.up);
}

GatedRows take_gated_rows(const Recording& recording, const FeedForwardBlock& block) {
    const uint32_t columns = block.up.weight.rows;
    const kernels::Activations gate = recording.matrix_input(columns);
    return {.gate = gate, .up = block.gate ? recording.rows(columns) : gate};
}

void record_gate_and_up(const Recording& recording, const FeedForwardBlock& block, const GatedRows& rows) {
    if (!block.gate) { // the product is of up with itself
        const std::array<Projection, 1> up{{{block.up, rows.up}}};
        record_projections(recording, block.norm, up);
        return;
    }
    const std::array<Projection, 2> projections{{{*block.gate, rows.gate}, {block.up, rows.up}}};
    if (!block.is_gate_fused) {
        record_projections(recording, block.norm, projections);
        return;
    }
    const Arena::Scope scope(recording.arena);
    for (const RowRange& range : recording.step.row_ranges) {
        if (range.path == kernels::RowPath::prefill) {
            record_projections(recording, range, block.norm, projections);
            continue;
        }
        kernels::fused_linear(recording.launcher,
                              {.weight = block.gate->weight,
                               .gated = kernels::GatedBy{.up = block.up.weight, .kind = block.gate_kind},
                               .input = recording.activations.hidden,
                               .norm = pending_norm(recording, block.norm),
                               .output = rows.gate,
                               .packs = rows.gate,
                               .counters = fused_counters(recording, rows.gate.columns),
                               .first = range.first,
                               .count = range.count});
    }
}

void record_product(const Recording& recording, const FeedForwardBlock& block, const GatedRows& rows) {
    const RowRange outside = rows_outside(recording.step, block.is_gate_fused);
    kernels::gate_multiply(recording.launcher,
                           {.gate = rows.gate,
                            .up = rows.up,
                            .is_alone = !block.gate && block.gate_kind != kernels::Gate::relu,
                            .first = outside.first,
                            .count = outside.count,
                            .kind = block.gate_kind,
                            .packed = reads_packed(block.down.weights) && !block.is_gate_fused &&
                                      has_decode_rows(recording.step)});
}

void record(const Recording& recording, const FeedForwardBlock& block) {
    const Arena::Scope scope(recording.arena);
    const GatedRows rows = take_gated_rows(recording, block);
    record_norm(recording, block.norm, reads_packed(block));
    record_gate_and_up(recording, block, rows);
    if (block.gate_deviations) {
        kernels::statistical_top_k(
            recording.launcher,
            {.values = rows.gate, .count = recording.step.rows, .deviations = *block.gate_deviations});
    }
    record_product(recording, block, rows);
    record_output(recording, block.down, rows.gate);
}

} // namespace etna::model
