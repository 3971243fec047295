#include "core/model/blocks/mamba2.hpp"

#include "core/kernels/gate_multiply.hpp"
#include "core/kernels/gated_rms_norm.hpp"
#include "core/kernels/short_convolution.hpp"
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
    return std::get<Mamba2Config>(config.layers[layer].mixer);
}

std::string skip_name(uint32_t layer) {
    return fmt::format("blk.{}{}", layer, mamba2_skip_name);
}

/// Norm and projections of the block's input.
void record_input(const Recording& recording, const Mamba2Block& block) {
    const Activations& activations = recording.activations;
    record_norm(recording, block.norm,
                reads_halves(block.gate) || reads_halves(block.xbc) || reads_halves(block.dt));
    const std::array<Projection, 3> projections{{{block.gate, activations.mamba_gate},
                                                 {block.xbc, activations.mamba_input},
                                                 {block.dt, activations.mamba_dt}}};
    record_projections(recording, block.norm, projections);
}

/// residual += O (mamba_output silu(z)).
void record_gated_output(const Recording& recording, const Mamba2Block& block) {
    const Activations& activations = recording.activations;
    kernels::gate_multiply(recording.library, recording.recorder,
                           {.gate = activations.mamba_gate,
                            .up = activations.mamba_output,
                            .count = recording.step.rows,
                            .kind = kernels::Gate::silu,
                            .halves = reads_halves(block.output.weights)});
    record_output(recording, block.output, activations.mamba_gate);
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
    table.vectors(skip_name(layer), shape.heads, 1);
    if (mamba.has_output_norm)
        table.vectors(name("ssm_norm.weight"), shape.groups, shape.output_columns() / shape.groups);
    table.matrix(name("ssm_out.weight"), config.width, shape.output_columns());
}

Mamba2Block mamba2_block(const Weights& weights, const Config& config, uint32_t layer) {
    const Mamba2Config& mamba = mamba_of(config, layer);
    const auto vector = [&](std::string_view name) { return weights.vector(tensor_name(layer, name)); };
    const auto linear = [&](std::string_view name) {
        return LinearWeights{.weight = weights.matrix(tensor_name(layer, name)), .bias = {}};
    };
    return {.norm = {.weight = vector("attn_norm.weight"),
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
            .skip = weights.vector(skip_name(layer)),
            .output_norm = weights.find_vector(tensor_name(layer, "ssm_norm.weight")),
            .shape = mamba.shape,
            .convolution_width = mamba.convolution_width,
            .epsilon = mamba.epsilon};
}

void record(const Recording& recording, const Mamba2Block& block, const Mamba2State& state) {
    const Activations& activations = recording.activations;
    const Step& step = recording.step;
    kernels::Library& library = recording.library;
    vk::Recorder& recorder = recording.recorder;

    record_input(recording, block);
    kernels::short_convolution(library, recorder,
                               {.sequences = step.sequences,
                                .input = activations.mamba_input,
                                .output = activations.mamba_xbc,
                                .weight = block.convolution,
                                .bias = block.convolution_bias,
                                .ring = state.ring,
                                .width = block.convolution_width});
    kernels::mamba2(library, recorder,
                    {.sequences = step.sequences,
                     .shape = block.shape,
                     .xbc = activations.mamba_xbc,
                     .dt = activations.mamba_dt,
                     .decay = block.decay,
                     .dt_bias = block.dt_bias,
                     .skip = block.skip,
                     .states = state.mamba,
                     .output = activations.mamba_output});
    if (!block.output_norm) {
        record_gated_output(recording, block);
        return;
    }
    kernels::gated_rms_norm(library, recorder,
                            {.values = activations.mamba_output,
                             .gate = activations.mamba_gate,
                             .weight = *block.output_norm,
                             .head_dim = block.shape.output_columns() / block.shape.groups,
                             .count = step.rows,
                             .epsilon = block.epsilon,
                             .order = kernels::GatedNorm::gate_first});
    record_halves(recording, activations.mamba_output, reads_halves(block.output.weights));
    record_output(recording, block.output, activations.mamba_output);
}

} // namespace etna::model
