#include "core/model/arch/decoder.hpp"

namespace etna::model {

void declare_ends(TensorTable& table, const Config& config) {
    table.matrix("token_embd.weight", config.vocabulary, config.width);
    table.vector("output_norm.weight", config.width);
    table.matrix("output.weight", config.vocabulary, config.width, Presence::optional);
}

Decoder assemble_decoder(const Config& config, const Weights& weights) {
    Decoder decoder{
        .embedding = weights.matrix("token_embd.weight"),
        .layers = {},
        .output_norm = weights.vector("output_norm.weight"),
        .head = weights.matrix(weights.has_matrix("output.weight") ? "output.weight" : "token_embd.weight"),
        .epsilon = config.rms_epsilon};
    for (uint32_t layer = 0; layer < config.layers; ++layer) {
        decoder.layers.push_back({.attention = attention_block(weights, config, layer),
                                  .feed_forward = feed_forward_block(weights, config, layer)});
    }
    return decoder;
}

} // namespace etna::model
