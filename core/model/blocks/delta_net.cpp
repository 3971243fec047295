#include "core/model/blocks/delta_net.hpp"

#include "core/kernels/operations/gated_rms_norm.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/short_convolution.hpp"
#include "core/model/blocks/recurrence.hpp"
#include "core/model/nan_probe.hpp"

#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace etna::model {
namespace {

/// Added to the squared lengths of k and q: a constant of the published code, not a key of the files.
constexpr float length_epsilon = 1e-6F;

/// The block's rows.
struct DeltaRows {
    kernels::Activations input;  ///< [rows, qkv_columns]: before the convolution
    kernels::Activations qkv;    ///< [rows, qkv_columns]
    kernels::Activations gate;   ///< [rows, output_columns]
    kernels::Activations alpha;  ///< [rows, value heads]
    kernels::Activations beta;   ///< [rows, value heads]
    kernels::Activations output; ///< [rows, output_columns]
};

DeltaRows take_delta_rows(const Recording& recording, const kernels::DeltaShape& shape) {
    return {.input = recording.rows(shape.qkv_columns()),
            .qkv = recording.rows(shape.qkv_columns()),
            .gate = recording.rows(shape.output_columns()),
            .alpha = recording.rows(shape.value_heads),
            .beta = recording.rows(shape.value_heads),
            .output = recording.matrix_input(shape.output_columns())};
}

/// Norm and projections of the block's input.
void record_input(const Recording& recording, const DeltaNetBlock& block, const DeltaRows& rows) {
    const bool packed = reads_packed(block.qkv) || reads_packed(block.gate) || reads_packed(block.alpha) ||
                        reads_packed(block.beta);
    record_norm(recording, block.norm, packed);
    const std::array<Projection, 4> projections{{{block.qkv, rows.input},
                                                 {block.gate, rows.gate},
                                                 {block.alpha, rows.alpha},
                                                 {block.beta, rows.beta}}};
    record_projections(recording, block.norm, projections);
}

/// Declares the projections of the layer's input.
void declare_projections(TensorTable& table, const Config& config, uint32_t layer) {
    const DeltaNetConfig& net = *config.layers[layer].mixer.get_if<DeltaNetConfig>();
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
    const DeltaNetConfig& net = *config.layers[layer].mixer.get_if<DeltaNetConfig>();
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

DeltaNetConfig read_delta_net(MetadataReader& reader) {
    DeltaNetConfig net;
    net.convolution_width =
        reader.integer("ssm.conv_kernel", {.min = 2, .max = kernels::convolution_width_max});
    net.shape.key_dim = reader.integer("ssm.state_size", {.min = 1, .max = kernels::delta_key_dim_max});
    net.shape.key_heads = reader.integer("ssm.group_count", {.min = 1, .max = heads_max});
    net.shape.value_heads = reader.integer("ssm.time_step_rank", {.min = 1, .max = heads_max});
    const uint32_t inner = reader.integer("ssm.inner_size", {.min = 1, .max = width_max});
    net.shape.value_dim = inner / net.shape.value_heads;
    if (net.shape.value_heads % net.shape.key_heads != 0) {
        reader.fail(ErrorKind::corrupt, "ssm.time_step_rank",
                    fmt::format("not a multiple of group_count {}", net.shape.key_heads));
    }
    if (inner % net.shape.value_heads != 0) {
        reader.fail(ErrorKind::corrupt, "ssm.inner_size",
                    fmt::format("not a multiple of time_step_rank {}", net.shape.value_heads));
    }
    return net;
}

std::vector<StatePart> state_parts(const DeltaNetConfig& config) {
    return recurrent_parts({.name = "delta states",
                            .states = kernels::delta_state_bytes(config.shape),
                            .pending = kernels::delta_pending_bytes(config.shape)},
                           config.shape.qkv_columns(), config.convolution_width);
}

OwnedMixer make_mixer(const DeltaNetConfig& net, const Weights& weights, const Config& config,
                      uint32_t layer) {
    const auto vector = [&](std::string_view name) { return weights.vector(tensor_name(layer, name)); };
    const auto linear = [&](std::string_view name) {
        return LinearWeights{.weight = weights.matrix(tensor_name(layer, fmt::format("{}.weight", name))),
                             .bias = {}};
    };
    return mixer_of(
        DeltaNetBlock{.norm = {.weight = vector("attn_norm.weight"),
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
                      .epsilon = config.rms_epsilon});
}

std::vector<const LinearWeights*> readers(const DeltaNetBlock& block) {
    return {&block.qkv, &block.gate, &block.alpha, &block.beta};
}

void record(const Recording& recording, const DeltaNetBlock& block, const LayerState& state) {
    const RecurrentState recurrent = recurrent_state(state, block.convolution_width);
    const Step& step = recording.step;
    const Arena::Scope scope(recording.arena);
    const DeltaRows rows = take_delta_rows(recording, block.shape);

    record_input(recording, block, rows);
    kernels::short_convolution(recording.launcher, {.sequences = step.sequences,
                                                    .input = rows.input,
                                                    .output = rows.qkv,
                                                    .weight = block.convolution,
                                                    .ring = recurrent.ring,
                                                    .width = block.convolution_width});
    kernels::delta_net(recording.launcher, {.sequences = step.sequences,
                                            .shape = block.shape,
                                            .qkv = rows.qkv,
                                            .a = {.rows = rows.alpha},
                                            .b = {.rows = rows.beta},
                                            .decay = block.decay,
                                            .dt_bias = block.dt_bias,
                                            .states = recurrent.recurrence,
                                            .output = rows.output,
                                            .length_epsilon = length_epsilon});
    kernels::gated_rms_norm(recording.launcher, {.values = rows.output,
                                                 .gate = rows.gate,
                                                 .weight = block.output_norm,
                                                 .head_dim = block.shape.value_dim,
                                                 .count = step.rows,
                                                 .epsilon = block.epsilon});
    record_output(recording, block.output, rows.output);
}

} // namespace etna::model
