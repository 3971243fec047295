#include "core/model/blocks/feed_forward.hpp"

#include "core/kernels/gate_multiply.hpp"
#include "core/kernels/rms_norm.hpp"
#include "core/model/nan_probe.hpp"

#include <fmt/format.h>

namespace etna::model {

void declare_feed_forward(TensorTable& table, const Config& config, uint32_t layer,
                          FeedForwardTensors tensors) {
    table.vector(fmt::format("blk.{}.{}.weight", layer, config.feed_forward_norm), config.width);
    table.projections(tensors.storage, fmt::format("blk.{}.ffn_up.weight", layer),
                      {{fmt::format("blk.{}.ffn_gate.weight", layer), config.layers[layer].feed_forward},
                       {fmt::format("blk.{}.ffn_up.weight", layer), config.layers[layer].feed_forward}},
                      config.width);
    table.matrix(fmt::format("blk.{}.ffn_down.weight", layer), config.width,
                 config.layers[layer].feed_forward);
    if (tensors.post_norm)
        table.vector(fmt::format("blk.{}.post_ffw_norm.weight", layer), config.width);
}

FeedForwardBlock feed_forward_block(const Weights& weights, const Config& config, uint32_t layer) {
    const auto linear = [&](const char* name) {
        return LinearWeights{.weight = weights.matrix(fmt::format("blk.{}.{}.weight", layer, name)),
                             .bias = {}};
    };
    return {.norm = weights.vector(fmt::format("blk.{}.{}.weight", layer, config.feed_forward_norm)),
            .gate = linear("ffn_gate"),
            .up = linear("ffn_up"),
            .down = linear("ffn_down"),
            .post_norm = weights.find_vector(fmt::format("blk.{}.post_ffw_norm.weight", layer)),
            .gate_kind = config.gate,
            .epsilon = config.rms_epsilon,
            .nan_probe = feed_forward_nan_probe(layer)};
}

void record(const Recording& recording, const FeedForwardBlock& block) {
    const Activations& activations = recording.activations;
    kernels::Library& library = recording.library;
    vk::Recorder& recorder = recording.recorder;
    const uint32_t rows = recording.step.rows;

    record_norm(recording, {block.norm, block.epsilon, block.nan_probe},
                reads_halves(block.gate) || reads_halves(block.up));
    record_linear(recording, block.gate, activations.hidden, activations.gate, kernels::Store::replace);
    record_linear(recording, block.up, activations.hidden, activations.up, kernels::Store::replace);
    recorder.barrier();
    kernels::gate_multiply(library, recorder,
                           {.gate = activations.gate,
                            .up = activations.up,
                            .first = 0,
                            .count = rows,
                            .kind = block.gate_kind,
                            .halves = reads_halves(block.down)});
    recorder.barrier();
    record_output(recording, block.down, activations.gate,
                  {.weight = block.post_norm, .epsilon = block.epsilon});
}

} // namespace etna::model
