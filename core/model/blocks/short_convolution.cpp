#include "core/model/blocks/short_convolution.hpp"

#include "core/kernels/short_convolution.hpp"
#include "core/model/nan_probe.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

namespace etna::model {
namespace {

std::string convolution_tensor(uint32_t layer) {
    return fmt::format("blk.{}{}", layer, short_convolution_name);
}

const ShortConvolutionConfig& shape_of(const Config& config, uint32_t layer) {
    return std::get<ShortConvolutionConfig>(config.layers[layer].mixer);
}

} // namespace

void declare_short_convolution(TensorTable& table, const Config& config, uint32_t layer) {
    const ShortConvolutionConfig& shape = shape_of(config, layer);
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    table.vector(name("attn_norm.weight"), config.width);
    table.matrix(name("shortconv.in_proj.weight"), 3 * shape.channels, config.width);
    table.vectors(convolution_tensor(layer), shape.channels, shape.width);
    table.matrix(name("shortconv.out_proj.weight"), config.width, shape.channels);
}

ShortConvolutionBlock short_convolution_block(const Weights& weights, const Config& config, uint32_t layer) {
    const auto linear = [&](std::string_view name) {
        return LinearWeights{.weight = weights.matrix(tensor_name(layer, name)), .bias = {}};
    };
    return {.norm = {.weight = weights.vector(tensor_name(layer, "attn_norm.weight")),
                     .epsilon = config.rms_epsilon,
                     .nan_probe = attention_nan_probe(layer)},
            .input = linear("shortconv.in_proj.weight"),
            .output = {.weights = linear("shortconv.out_proj.weight"),
                       .post_norm = {},
                       .next_norm = std::nullopt},
            .convolution = weights.vector(convolution_tensor(layer)),
            .convolution_width = shape_of(config, layer).width};
}

void record(const Recording& recording, const ShortConvolutionBlock& block,
            const ShortConvolutionState& state) {
    const Activations& activations = recording.activations;
    record_norm(recording, block.norm, reads_halves(block.input));
    const std::array<Projection, 1> projections{{{block.input, activations.convolution_input}}};
    record_projections(recording, block.norm, projections);
    kernels::short_convolution(recording.library, recording.recorder,
                               {.sequences = recording.step.sequences,
                                .input = activations.convolution_input,
                                .output = activations.convolution_output,
                                .weight = block.convolution,
                                .ring = state.ring,
                                .width = block.convolution_width,
                                .kind = kernels::ConvolutionKind::gated});
    record_halves(recording, activations.convolution_output, reads_halves(block.output.weights));
    record_output(recording, block.output, activations.convolution_output);
}

} // namespace etna::model
