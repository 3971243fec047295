#include "core/model/blocks/delta_net.hpp"

#include "core/kernels/gated_rms_norm.hpp"
#include "core/kernels/rms_norm.hpp"
#include "core/kernels/short_convolution.hpp"
#include "core/model/nan_probe.hpp"

#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace etna::model {
namespace {

/// Added to the squared lengths of k and q: a constant of the published code, not a key of the files.
constexpr float length_epsilon = 1e-6F;

/// Norm and projections of the block's input.
void record_input(const Recording& recording, const DeltaNetBlock& block) {
    const Activations& activations = recording.activations;
    const bool halves = reads_halves(block.qkv) || reads_halves(block.gate) || reads_halves(block.alpha) ||
                        reads_halves(block.beta);
    record_norm(recording, block.norm, halves);
    const std::array<Projection, 4> projections{{{block.qkv, activations.delta_input},
                                                 {block.gate, activations.delta_gate},
                                                 {block.alpha, activations.delta_alpha},
                                                 {block.beta, activations.delta_beta}}};
    record_projections(recording, block.norm, projections);
}

/// Declares the projections of the layer's input.
void declare_projections(TensorTable& table, const Config& config, uint32_t layer) {
    const DeltaNetConfig& net = *config.layers[layer].delta_net();
    const kernels::DeltaShape& shape = net.shape;
    const uint32_t heads_each = shape.value_heads / shape.key_heads; ///< value heads of a key head
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    const std::string qkv = name("attn_qkv.weight");
    const std::string gate = name("attn_gate.weight");
    if (net.fused_inputs) {
        const uint32_t values = heads_each * shape.value_dim;
        // Adjacent parts of one name are one matrix: q of all heads, then k, then v.
        table.interleaved(fmt::format("blk.{}{}", layer, delta_inputs_name),
                          {{qkv, shape.key_dim}, {qkv, shape.key_dim}, {qkv, values}, {gate, values}},
                          shape.key_heads, config.width);
    } else {
        table.matrix(qkv, shape.qkv_columns(), config.width);
        table.matrix(gate, shape.output_columns(), config.width);
    }
    if (net.fused_gates) {
        table.interleaved(name("ssm_ba.weight"),
                          {{name("ssm_beta.weight"), heads_each}, {name("ssm_alpha.weight"), heads_each}},
                          shape.key_heads, config.width);
    } else {
        table.matrix(name("ssm_alpha.weight"), shape.value_heads, config.width);
        table.matrix(name("ssm_beta.weight"), shape.value_heads, config.width);
    }
}

} // namespace

void declare_delta_net(TensorTable& table, const Config& config, uint32_t layer) {
    const DeltaNetConfig& net = *config.layers[layer].delta_net();
    const kernels::DeltaShape& shape = net.shape;
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    table.vector(name("attn_norm.weight"), config.width);
    declare_projections(table, config, layer);
    table.vectors(name("ssm_conv1d.weight"), shape.qkv_columns(), net.convolution_width);
    table.vector(name("ssm_a"), shape.value_heads);
    table.vector(name("ssm_dt.bias"), shape.value_heads);
    table.vector(name("ssm_norm.weight"), shape.value_dim);
    table.matrix(name("ssm_out.weight"), config.width, shape.output_columns());
}

DeltaNetBlock delta_net_block(const Weights& weights, const Config& config, uint32_t layer) {
    const DeltaNetConfig& net = *config.layers[layer].delta_net();
    const auto vector = [&](std::string_view name) { return weights.vector(tensor_name(layer, name)); };
    const auto linear = [&](std::string_view name) {
        return LinearWeights{.weight = weights.matrix(tensor_name(layer, fmt::format("{}.weight", name))),
                             .bias = {}};
    };
    return {.norm = {.weight = vector("attn_norm.weight"),
                     .epsilon = config.rms_epsilon,
                     .nan_probe = attention_nan_probe(layer)},
            .qkv = linear("attn_qkv"),
            .gate = linear("attn_gate"),
            .alpha = linear("ssm_alpha"),
            .beta = linear("ssm_beta"),
            .output = {.weights = linear("ssm_out"), .post_norm = {}, .next_norm = std::nullopt},
            .convolution = vector("ssm_conv1d.weight"),
            .decay = vector("ssm_a"),
            .dt_bias = vector("ssm_dt.bias"),
            .output_norm = vector("ssm_norm.weight"),
            .shape = net.shape,
            .convolution_width = net.convolution_width,
            .epsilon = config.rms_epsilon};
}

void record(const Recording& recording, const DeltaNetBlock& block, const DeltaNetState& state) {
    const Activations& activations = recording.activations;
    const Step& step = recording.step;
    kernels::Library& library = recording.library;
    vk::Recorder& recorder = recording.recorder;

    record_input(recording, block);
    kernels::short_convolution(library, recorder,
                               {.sequences = step.sequences,
                                .input = activations.delta_input,
                                .output = activations.delta_qkv,
                                .weight = block.convolution,
                                .ring = state.ring,
                                .width = block.convolution_width});
    kernels::delta_net(library, recorder,
                       {.sequences = step.sequences,
                        .shape = block.shape,
                        .qkv = activations.delta_qkv,
                        .a = {.rows = activations.delta_alpha},
                        .b = {.rows = activations.delta_beta},
                        .decay = block.decay,
                        .dt_bias = block.dt_bias,
                        .states = state.delta,
                        .output = activations.delta_output,
                        .length_epsilon = length_epsilon});
    kernels::gated_rms_norm(library, recorder,
                            {.values = activations.delta_output,
                             .gate = activations.delta_gate,
                             .weight = block.output_norm,
                             .head_dim = block.shape.value_dim,
                             .count = step.rows,
                             .epsilon = block.epsilon});
    record_halves(recording, activations.delta_output, reads_halves(block.output.weights));
    record_output(recording, block.output, activations.delta_output);
}

} // namespace etna::model
