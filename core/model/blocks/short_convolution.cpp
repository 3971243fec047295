#include "core/model/blocks/short_convolution.hpp"

#include "core/kernels/operations/short_convolution.hpp"
#include "core/model/blocks/recurrence.hpp"
#include "core/model/nan_probe.hpp"

#include <array>

namespace etna::model {
namespace {

constexpr std::string_view convolution_name = "shortconv.conv.weight";

const ShortConvolutionConfig& shape_of(const Config& config, uint32_t layer) {
    return *config.layers[layer].mixer.get_if<ShortConvolutionConfig>();
}

} // namespace

void declare_short_convolution(TensorTable& table, const Config& config, uint32_t layer) {
    const ShortConvolutionConfig& shape = shape_of(config, layer);
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    table.vector(name("attn_norm.weight"), config.width);
    table.matrix(name("shortconv.in_proj.weight"), 3 * shape.channels, config.width);
    table.vectors(name(convolution_name), shape.channels, shape.width);
    table.matrix(name("shortconv.out_proj.weight"), config.width, shape.channels);
}

std::vector<StatePart> state_parts(const ShortConvolutionConfig& config) {
    return {convolution_part(config.channels, config.width)};
}

OwnedMixer make_mixer(const ShortConvolutionConfig& mixer, const Weights& weights, const Config& config,
                      uint32_t layer) {
    const auto linear = [&](std::string_view name) {
        return LinearWeights{.weight = weights.matrix(tensor_name(layer, name)), .bias = {}};
    };
    return mixer_of(
        ShortConvolutionBlock{.norm = {.weight = weights.vector(tensor_name(layer, "attn_norm.weight")),
                                       .epsilon = config.rms_epsilon,
                                       .nan_probe = attention_nan_probe(layer)},
                              .input = linear("shortconv.in_proj.weight"),
                              .output = {.weights = linear("shortconv.out_proj.weight"),
                                         .post_norm = {},
                                         .next_norm = std::nullopt},
                              .convolution = weights.vector(tensor_name(layer, convolution_name)),
                              .convolution_width = mixer.width});
}

std::vector<const LinearWeights*> readers(const ShortConvolutionBlock& block) {
    return {&block.input};
}

void record(const Recording& recording, const ShortConvolutionBlock& block, const LayerState& state) {
    const Arena::Scope scope(recording.arena);
    const uint32_t channels = block.output.weights.weight.columns;
    const kernels::Activations input = recording.rows(3 * channels);
    const kernels::Activations output = recording.matrix_input(channels);
    record_norm(recording, block.norm, reads_packed(block.input));
    const std::array<Projection, 1> projections{{{block.input, input}}};
    record_projections(recording, block.norm, projections);
    kernels::short_convolution(recording.launcher,
                               {.sequences = recording.step.sequences,
                                .input = input,
                                .output = output,
                                .weight = block.convolution,
                                .ring = convolution_ring(state, 0, block.convolution_width),
                                .width = block.convolution_width,
                                .kind = kernels::ConvolutionKind::gated});
    record_output(recording, block.output, output);
}

} // namespace etna::model
