#include "core/model/blocks/mamba2.hpp"

#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/operations/gated_rms_norm.hpp"
#include "core/kernels/operations/short_convolution.hpp"
#include "core/model/blocks/recurrence.hpp"
#include "core/model/nan_probe.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

namespace etna::model {
namespace {

// Parts of ssm_in.
constexpr std::string_view gate_part = "ssm_in_gate.weight";
constexpr std::string_view xbc_part = "ssm_in_xbc.weight";
constexpr std::string_view dt_part = "ssm_in_dt.weight";

const Mamba2Config& mamba_of(const Config& config, uint32_t layer) {
    return *config.layers[layer].mixer.get_if<Mamba2Config>();
}

/// The block's rows.
struct MambaRows {
    kernels::Activations input;  ///< [rows, xbc_columns]: before the convolution
    kernels::Activations xbc;    ///< [rows, xbc_columns]
    kernels::Activations gate;   ///< [rows, output_columns]
    kernels::Activations dt;     ///< [rows, heads]
    kernels::Activations output; ///< [rows, output_columns]
};

MambaRows take_mamba_rows(const Recording& recording, const kernels::Mamba2Shape& shape) {
    return {.input = recording.rows(shape.xbc_columns()),
            .xbc = recording.rows(shape.xbc_columns()),
            .gate = recording.matrix_input(shape.output_columns()),
            .dt = recording.rows(shape.heads),
            .output = recording.matrix_input(shape.output_columns())};
}

/// Norm and projections of the block's input.
void record_input(const Recording& recording, const Mamba2Block& block, const MambaRows& rows) {
    record_norm(recording, block.norm,
                reads_packed(block.gate) || reads_packed(block.xbc) || reads_packed(block.dt));
    const std::array<Projection, 3> projections{
        {{block.gate, rows.gate}, {block.xbc, rows.input}, {block.dt, rows.dt}}};
    record_projections(recording, block.norm, projections);
}

/// residual += O (output silu(z)).
void record_gated_output(const Recording& recording, const Mamba2Block& block, const MambaRows& rows) {
    kernels::gate_multiply(recording.launcher,
                           {.gate = rows.gate,
                            .up = rows.output,
                            .count = recording.step.rows,
                            .kind = kernels::Gate::silu,
                            .packed = has_decode_rows(recording.step) && reads_packed(block.output.weights)});
    record_output(recording, block.output, rows.gate);
}

} // namespace

void declare_mamba2(TensorTable& table, const Config& config, uint32_t layer) {
    const Mamba2Config& mamba = mamba_of(config, layer);
    const kernels::Mamba2Shape& shape = mamba.shape;
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    if (!mamba.shares_norm)
        table.vector(name("attn_norm.weight"), config.width);
    table.projections(Storage::fused, name("ssm_in.weight"),
                      {{name(gate_part), shape.output_columns()},
                       {name(xbc_part), shape.xbc_columns()},
                       {name(dt_part), shape.heads}},
                      config.width);
    table.vectors(name("ssm_conv1d.weight"), shape.xbc_columns(), mamba.convolution_width);
    table.vector(name("ssm_conv1d.bias"), shape.xbc_columns(), Presence::optional);
    table.vector(name("ssm_dt.bias"), shape.heads);
    table.vectors(name("ssm_a"), shape.heads, 1);
    table.vectors(name("ssm_d"), shape.heads, 1);
    if (mamba.has_output_norm)
        table.vectors(name("ssm_norm.weight"), shape.groups, shape.output_columns() / shape.groups);
    table.matrix(name("ssm_out.weight"), config.width, shape.output_columns());
}

Mamba2Config read_mamba2(MetadataReader& reader, const Config& config) {
    Mamba2Config mamba;
    mamba.epsilon = config.rms_epsilon;
    mamba.convolution_width =
        reader.integer("ssm.conv_kernel", {.min = 2, .max = kernels::convolution_width_max});
    mamba.shape.state_dim =
        reader.integer("ssm.state_size", {.min = 1, .max = kernels::mamba2_state_dim_max});
    mamba.shape.groups = reader.integer("ssm.group_count", {.min = 1, .max = heads_max});
    mamba.shape.heads = reader.integer("ssm.time_step_rank", {.min = 1, .max = heads_max});
    const uint32_t inner = reader.integer("ssm.inner_size", {.min = 1, .max = width_max});
    mamba.shape.head_dim = inner / mamba.shape.heads;
    if (mamba.shape.heads % mamba.shape.groups != 0) {
        reader.fail(ErrorKind::corrupt, "ssm.time_step_rank",
                    fmt::format("not a multiple of group_count {}", mamba.shape.groups));
    }
    if (inner % mamba.shape.heads != 0) {
        reader.fail(ErrorKind::corrupt, "ssm.inner_size",
                    fmt::format("not a multiple of time_step_rank {}", mamba.shape.heads));
    }
    return mamba;
}

std::vector<StatePart> state_parts(const Mamba2Config& config) {
    return recurrent_parts({.name = "Mamba states",
                            .states = kernels::mamba2_state_bytes(config.shape),
                            .pending = kernels::mamba2_pending_bytes(config.shape)},
                           config.shape.xbc_columns(), config.convolution_width);
}

OwnedMixer make_mixer(const Mamba2Config& mamba, const Weights& weights, const Config& config,
                      uint32_t layer) {
    const auto vector = [&](std::string_view name) { return weights.vector(tensor_name(layer, name)); };
    const auto linear = [&](std::string_view name) {
        return LinearWeights{.weight = weights.matrix(tensor_name(layer, name)), .bias = {}};
    };
    return mixer_of(Mamba2Block{
        .norm = {.weight = vector("attn_norm.weight"),
                 .epsilon = config.rms_epsilon,
                 .nan_probe = attention_nan_probe(layer),
                 .is_left = mamba.shares_norm},
        .gate = linear(gate_part),
        .xbc = linear(xbc_part),
        .dt = linear(dt_part),
        .output = {.weights = linear("ssm_out.weight"), .post_norm = {}, .next_norm = std::nullopt},
        .convolution = vector("ssm_conv1d.weight"),
        .convolution_bias = weights.find_vector(tensor_name(layer, "ssm_conv1d.bias")),
        .decay = vector("ssm_a"),
        .dt_bias = vector("ssm_dt.bias"),
        .skip = vector("ssm_d"),
        .output_norm = weights.find_vector(tensor_name(layer, "ssm_norm.weight")),
        .shape = mamba.shape,
        .convolution_width = mamba.convolution_width,
        .epsilon = mamba.epsilon});
}

std::vector<const LinearWeights*> readers(const Mamba2Block& block) {
    return {&block.gate, &block.xbc, &block.dt};
}

void record(const Recording& recording, const Mamba2Block& block, const LayerState& state) {
    const RecurrentState recurrent = recurrent_state(state, block.convolution_width);
    const Step& step = recording.step;
    const Arena::Scope scope(recording.arena);
    const MambaRows rows = take_mamba_rows(recording, block.shape);

    record_input(recording, block, rows);
    kernels::short_convolution(recording.launcher, {.sequences = step.sequences,
                                                    .input = rows.input,
                                                    .output = rows.xbc,
                                                    .weight = block.convolution,
                                                    .bias = block.convolution_bias,
                                                    .ring = recurrent.ring,
                                                    .width = block.convolution_width});
    kernels::mamba2(recording.launcher, {.sequences = step.sequences,
                                         .shape = block.shape,
                                         .xbc = rows.xbc,
                                         .dt = rows.dt,
                                         .decay = block.decay,
                                         .dt_bias = block.dt_bias,
                                         .skip = block.skip,
                                         .states = recurrent.recurrence,
                                         .output = rows.output});
    if (!block.output_norm) {
        record_gated_output(recording, block, rows);
        return;
    }
    kernels::gated_rms_norm(recording.launcher,
                            {.values = rows.output,
                             .gate = rows.gate,
                             .weight = *block.output_norm,
                             .head_dim = block.shape.output_columns() / block.shape.groups,
                             .count = step.rows,
                             .epsilon = block.epsilon,
                             .order = kernels::GatedNorm::gate_first});
    record_output(recording, block.output, rows.output);
}

} // namespace etna::model
