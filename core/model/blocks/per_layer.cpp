#include "core/model/blocks/per_layer.hpp"

#include "core/kernels/operations/embed.hpp"
#include "core/kernels/operations/rms_norm.hpp"

#include <cmath>
#include <numbers>
#include <string_view>

#include <fmt/format.h>

namespace etna::model {
namespace {

constexpr float inverse_sqrt2 = 1 / std::numbers::sqrt2_v<float>;

/// The columns of one layer.
kernels::Activations input_of(const Recording& recording, uint32_t layer, uint32_t columns) {
    const kernels::Activations& all = recording.activations.per_layer_inputs;
    const uint64_t start = uint64_t{layer} * columns * sizeof(float);
    return {
        .range = all.range.part(start, all.range.bytes - start), .columns = columns, .stride = all.stride};
}

} // namespace

void declare_per_layer_inputs(TensorTable& table, const Config& config) {
    const uint32_t width = config.per_layer_width;
    if (width == 0)
        return;
    table.matrix("per_layer_token_embd.weight", config.vocabulary, config.layer_count() * width);
    table.matrix("per_layer_model_proj.weight", config.layer_count() * width, config.width);
    table.scaled_vector("per_layer_proj_norm.weight", width, inverse_sqrt2);
}

void declare_per_layer(TensorTable& table, const Config& config, uint32_t layer) {
    const uint32_t width = config.per_layer_width;
    if (width == 0)
        return;
    table.matrix(tensor_name(layer, "inp_gate.weight"), width, config.width);
    table.matrix(tensor_name(layer, "proj.weight"), config.width, width);
    table.vector(tensor_name(layer, "post_norm.weight"), config.width);
}

PerLayerInputs per_layer_inputs(const Weights& weights, const Config& config) {
    return {.table = weights.matrix("per_layer_token_embd.weight"),
            .projection = {.weight = weights.matrix("per_layer_model_proj.weight"), .bias = {}},
            .norm = weights.vector("per_layer_proj_norm.weight"),
            .epsilon = config.rms_epsilon * static_cast<float>(config.width),
            .table_scale = std::sqrt(static_cast<float>(config.per_layer_width) / 2),
            .layers = config.layer_count()};
}

PerLayerBlock per_layer_block(const Weights& weights, const Config& config, uint32_t layer) {
    const auto linear = [&](std::string_view name) {
        return LinearWeights{.weight = weights.matrix(tensor_name(layer, name)), .bias = {}};
    };
    return {.gate = linear("inp_gate.weight"),
            .down = {.weights = linear("proj.weight"),
                     .post_norm = {.weight = weights.vector(tensor_name(layer, "post_norm.weight")),
                                   .epsilon = config.rms_epsilon},
                     .next_norm = std::nullopt},
            .gate_kind = config.gate,
            .layer = layer};
}

void record(const Recording& recording, const PerLayerInputs& inputs) {
    const Activations& activations = recording.activations;
    const Step& step = recording.step;
    kernels::embed(recording.launcher, {.rows = rows_of(step.groups[0], 0, step.rows),
                                        .slots = activations.slots,
                                        .embeddings = {},
                                        .table = inputs.table,
                                        .output = activations.per_layer_inputs,
                                        .scale = inputs.table_scale});
    const Arena::Scope scope(recording.arena);
    const kernels::Activations projection = recording.rows(inputs.projection.weight.rows);
    record_linear(recording, inputs.projection, activations.residual, projection, kernels::Store::replace);
    kernels::rms_norm(recording.launcher, {.input = projection,
                                           .output = activations.per_layer_inputs,
                                           .weight = inputs.norm,
                                           .groups = inputs.layers,
                                           .count = step.rows,
                                           .indices = std::nullopt,
                                           .epsilon = inputs.epsilon,
                                           .store = kernels::Store::add});
}

kernels::Activations record_layer_input(const Recording& recording, const PerLayerBlock& block,
                                        const kernels::Activations& input) {
    const kernels::Activations gate = recording.matrix_input(block.gate.weight.rows);
    record_linear(recording, block.gate, input, gate, kernels::Store::replace);
    kernels::gate_multiply(recording.launcher,
                           {.gate = gate,
                            .up = input_of(recording, block.layer, gate.columns),
                            .count = recording.step.rows,
                            .kind = block.gate_kind,
                            .packed = has_decode_rows(recording.step) && reads_packed(block.down.weights)});
    return gate;
}

void record(const Recording& recording, const PerLayerBlock& block) {
    const Arena::Scope scope(recording.arena);
    record_output(recording, block.down,
                  record_layer_input(recording, block, recording.activations.residual));
}

} // namespace etna::model
