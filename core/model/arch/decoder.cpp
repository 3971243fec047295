#include "core/model/arch/decoder.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

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

namespace {

/// The name of one of a draft head's own tensors, as llama.cpp's converters name it.
std::string draft_head_name(uint32_t layer, std::string_view part) {
    return tensor_name(layer, fmt::format("nextn.{}", part));
}

/// Two halves of a row are aligned as kernels need it.
constexpr uint32_t draft_width_multiple = 4;

} // namespace

void read_draft_head(MetadataReader& reader, Config& config) {
    if (config.ignored_layers == 0)
        return;
    const std::string prefix = draft_head_name(config.layer_count(), "");
    const auto& tensors = reader.file().tensors();
    const auto attention = std::ranges::find_if(
        config.layers, [](const LayerConfig& layer) { return layer.attention() != nullptr; });
    if (attention == config.layers.end() || config.width % draft_width_multiple != 0 ||
        std::ranges::none_of(tensors, [&](const gguf::Tensor& one) { return one.name.starts_with(prefix); }))
        return;
    config.layers.push_back(
        {.mixer = attention->mixer,
         .feed_forward = std::ranges::max(config.layers, {}, &LayerConfig::feed_forward).feed_forward});
    config.has_draft_head = true;
    --config.ignored_layers;
}

void drop_draft_head(Config& config) {
    if (!config.has_draft_head)
        return;
    config.layers.pop_back();
    config.has_draft_head = false;
    ++config.ignored_layers;
}

void declare_draft_head(TensorTable& table, const Config& config) {
    if (!config.has_draft_head)
        return;
    const auto name = [&](std::string_view part) { return draft_head_name(config.decoder_layers(), part); };
    table.matrix(name("eh_proj.weight"), config.width, 2 * config.width);
    table.vector(name("enorm.weight"), config.width);
    table.vector(name("hnorm.weight"), config.width);
    table.vector(name("shared_head_norm.weight"), config.width, Presence::optional);
    table.matrix(name("embed_tokens.weight"), config.vocabulary, config.width, Presence::optional);
    table.matrix(name("shared_head_head.weight"), config.vocabulary, config.width, Presence::optional);
}

void ignore_further_layers(TensorTable& table, const Config& config) {
    for (uint32_t i = 0; i < config.ignored_layers; ++i)
        table.ignore(fmt::format("blk.{}.", config.layer_count() + i));
}

namespace {

Layer assemble_layer(const Config& config, const Weights& weights, uint32_t layer) {
    Layer one{.mixer = config.layers[layer].mixer.make(weights, config, layer), .feed_forward = {}};
    if (config.has_experts(layer) && config.experts.has_dense_branch) {
        one.feed_forward = parallel_experts_block(weights, config, layer);
    } else if (config.has_experts(layer)) {
        one.feed_forward = experts_block(weights, config, layer);
    } else if (config.layers[layer].feed_forward > 0) {
        one.feed_forward = feed_forward_block(weights, config, layer);
    }
    if (config.streams > 1) {
        one.altup = altup_block(weights, config, layer);
    } else if (config.per_layer_width > 0) {
        one.per_layer = per_layer_block(weights, config, layer);
    }
    return one;
}

/// Tensors that the file leaves out are the decoder's.
DraftHead assemble_draft_head(const Config& config, const Weights& weights, const Decoder& decoder) {
    const uint32_t layer = config.decoder_layers();
    const auto name = [&](std::string_view part) { return draft_head_name(layer, part); };
    const auto own_or = [&](std::string_view part, const kernels::Matrix& shared) {
        return weights.has_matrix(name(part)) ? weights.matrix(name(part)) : shared;
    };
    return {.embedding = own_or("embed_tokens.weight", decoder.embedding),
            .embedding_norm = weights.vector(name("enorm.weight")),
            .hidden_norm = weights.vector(name("hnorm.weight")),
            .projection = {.weight = weights.matrix(name("eh_proj.weight")), .bias = std::nullopt},
            .layer = assemble_layer(config, weights, layer),
            .output_norm = weights.find_vector(name("shared_head_norm.weight")).value_or(decoder.output_norm),
            .head = own_or("shared_head_head.weight", decoder.head)};
}

} // namespace

Decoder assemble_decoder(const Config& config, const Weights& weights) {
    Decoder decoder{
        .embedding = weights.matrix("token_embd.weight"),
        .per_layer_inputs =
            config.per_layer_width > 0 ? std::optional(per_layer_inputs(weights, config)) : std::nullopt,
        .stream_ends = config.streams > 1 ? std::optional(stream_ends(weights, config)) : std::nullopt,
        .layers = {},
        .positions = weights.find_vector("position_embd.weight"),
        .token_type = weights.find_vector("token_types.weight"),
        .output_norm = weights.vector(std::string(config.output_norm) + ".weight"),
        .output_norm_bias = weights.find_vector(std::string(config.output_norm) + ".bias"),
        .has_layer_norms = config.has_layer_norms,
        .head = weights.matrix(weights.has_matrix("output.weight") ? "output.weight" : "token_embd.weight"),
        // The sum of streams is normalised instead of their mean.
        .epsilon = config.rms_epsilon * static_cast<float>(config.streams * config.streams),
        .embedding_scale = config.embedding_scale,
        .embedding_input_scale = config.embedding_input_scale,
        .logit_softcap = config.logit_softcap,
        .logit_scale = config.logit_scale,
        .suppressed_tokens = config.suppressed_tokens};
    for (uint32_t layer = 0; layer < config.decoder_layers(); ++layer)
        decoder.layers.push_back(assemble_layer(config, weights, layer));
    if (config.has_draft_head)
        decoder.draft_head = assemble_draft_head(config, weights, decoder);
    return decoder;
}

} // namespace etna::model
