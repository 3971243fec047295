#include "core/model/arch/decoder.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>

namespace etna::model {

void declare_ends(TensorTable& table, const Config& config) {
    table.matrix("token_embd.weight", config.vocabulary, config.width);
    table.vector(std::string(config.output_norm) + ".weight", config.width);
    table.matrix("output.weight", config.vocabulary, config.width, Presence::optional);
}

void declare_rotary(TensorTable& table, const Config& config) {
    const RotaryConfig& rotary = config.cache_groups[0].rotary;
    const uint32_t pairs = rotary.dims / 2;
    if (rotary.scaling == RotaryScaling::longrope) {
        table.host(std::string(rotary_short_name), pairs);
        table.host(std::string(rotary_long_name), pairs);
    } else {
        table.host(std::string(rotary_divisors_name), pairs, Presence::optional);
    }
}

void read_further_layers(MetadataReader& reader, Config& config) {
    config.ignored_layers =
        reader.integer("nextn_predict_layers", {.min = 0, .max = config.layer_count() - 1}, 0);
    config.layers.resize(config.layer_count() - config.ignored_layers);
}

void ignore_further_layers(TensorTable& table, const Config& config) {
    for (uint32_t i = 0; i < config.ignored_layers; ++i)
        table.ignore(fmt::format("blk.{}.", config.layer_count() + i));
}

namespace {

/// Creates the block of each mixer that a Config can have.
struct MixerBlock {
    const Weights& weights;
    const Config& config;
    uint32_t layer;

    std::optional<Mixer> operator()(const AttentionConfig& attention) const {
        if (attention.latent)
            return latent_attention_block(weights, config, layer);
        return attention_block(weights, config, layer);
    }
    std::optional<Mixer> operator()(const DeltaNetConfig&) const {
        return delta_net_block(weights, config, layer);
    }
    std::optional<Mixer> operator()(const ShortConvolutionConfig&) const {
        return short_convolution_block(weights, config, layer);
    }
    std::optional<Mixer> operator()(const Mamba2Config&) const {
        return mamba2_block(weights, config, layer);
    }
    std::optional<Mixer> operator()(const NoMixer&) const { return std::nullopt; }
};

} // namespace

Decoder assemble_decoder(const Config& config, const Weights& weights) {
    Decoder decoder{
        .embedding = weights.matrix("token_embd.weight"),
        .per_layer_inputs =
            config.per_layer_width > 0 ? std::optional(per_layer_inputs(weights, config)) : std::nullopt,
        .stream_ends = config.streams > 1 ? std::optional(stream_ends(weights, config)) : std::nullopt,
        .layers = {},
        .output_norm = weights.vector(std::string(config.output_norm) + ".weight"),
        .head = weights.matrix(weights.has_matrix("output.weight") ? "output.weight" : "token_embd.weight"),
        // The sum of streams is normalised in the place of their mean.
        .epsilon = config.rms_epsilon * static_cast<float>(config.streams * config.streams),
        .embedding_scale = config.embedding_scale,
        .embedding_input_scale = config.embedding_input_scale,
        .logit_softcap = config.logit_softcap,
        .logit_scale = config.logit_scale,
        .suppressed_tokens = config.suppressed_tokens};
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        Layer one{.mixer = std::visit(MixerBlock{weights, config, layer}, config.layers[layer].mixer),
                  .feed_forward = {}};
        if (config.has_experts(layer) && config.experts.has_dense_branch) {
            one.feed_forward = parallel_experts_block(weights, config, layer);
        } else if (config.has_experts(layer)) {
            one.feed_forward = experts_block(weights, config, layer);
        } else if (config.layers[layer].feed_forward > 0) {
            one.feed_forward = feed_forward_block(weights, config, layer);
        }
        if (config.streams > 1)
            one.altup = altup_block(weights, config, layer);
        else if (config.per_layer_width > 0)
            one.per_layer = per_layer_block(weights, config, layer);
        decoder.layers.push_back(one);
    }
    return decoder;
}

} // namespace etna::model
