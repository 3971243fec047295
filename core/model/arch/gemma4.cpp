#include "core/model/arch/decoder.hpp"
#include "core/model/arch/gemma_layers.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

#include <cmath>
#include <optional>
#include <variant>

#include <fmt/format.h>

// Gemma 4, text model: sliding-window and full layers, each kind with its own head size and RoPE parameters;
// QK-norm, values normalised without a weight, unscaled scores, pre- and post-norms, GELU-gated MLP, scaled
// embedding. Full layers may take their keys as values, the last layers read an earlier layer's keys and
// values, each layer may have an additional input, its output may be scaled, and experts may run in parallel
// with the MLP (transformers, modeling_gemma4.py).
namespace etna::model {
namespace {

uint32_t read_window_head_dim(MetadataReader& reader, uint32_t fallback) {
    const IntegerBounds bounds{.min = 2, .max = kernels::head_dim_max};
    const uint32_t head_dim = reader.integer("attention.key_length_swa", bounds, fallback);
    if (head_dim % 2 != 0)
        reader.fail(ErrorKind::unsupported, "attention.key_length_swa", "must be even");
    if (reader.integer("attention.value_length_swa", bounds, head_dim) != head_dim) {
        reader.fail(ErrorKind::unsupported, "attention.value_length_swa",
                    fmt::format("must equal the key length {}", head_dim));
    }
    return head_dim;
}

RotaryConfig read_window_rotary(MetadataReader& reader, const RotaryConfig& full, uint32_t head_dim) {
    const IntegerBounds bounds{.min = 2, .max = head_dim};
    const uint32_t dims = reader.integer("rope.dimension_count_swa", bounds, head_dim);
    if (dims % 2 != 0)
        reader.fail(ErrorKind::corrupt, "rope.dimension_count_swa", "must be even");
    return {.dims = dims, .base = full.base, .pairs = full.pairs, .has_divisors = false};
}

void read_layers(MetadataReader& reader, Config& config, uint32_t window_head_dim) {
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        auto& attention = *config.layers[layer].attention();
        if (attention.group > 0)
            attention.head_dim = window_head_dim;
        attention.norms_values = true;
        attention.values_are_keys = reader.file().find_tensor(tensor_name(layer, "attn_v.weight")) == nullptr;
    }
    share_keys(reader, config);
}

/// Experts in parallel with each dense block; none if expert_count is absent or 0.
void read_mixture(MetadataReader& reader, Config& config) {
    if (reader.integer("expert_count", {.min = 0, .max = kernels::experts_max}, 0) == 0)
        return;
    config.experts = read_experts(reader, config);
    config.experts.has_dense_branch = true;
}

Result<Config> read_gemma4(const gguf::File& file) {
    MetadataReader reader(file, "gemma4");
    Config config = read_common(reader, kernels::RotaryPairs::halves, LayerLists::differing);
    const uint32_t window_head_dim =
        read_window_head_dim(reader, config.max_of<AttentionConfig>(&AttentionConfig::head_dim));
    const uint32_t window_tokens = reader.integer("attention.sliding_window", {.min = 1, .max = context_max});
    if (!reader.has("attention.sliding_window_pattern"))
        reader.fail(ErrorKind::corrupt, "attention.sliding_window_pattern", "the key is missing");
    add_windowed_layers(
        reader, config,
        {.window_tokens = window_tokens,
         .rotary = read_window_rotary(reader, config.cache_groups[0].rotary, window_head_dim)});
    read_layers(reader, config, window_head_dim);
    check_layer_widths(reader, config);
    read_mixture(reader, config);
    config.per_layer_width =
        reader.integer("embedding_length_per_layer_input", {.min = 0, .max = width_max}, 0);
    if (config.per_layer_width % 4 != 0) {
        reader.fail(ErrorKind::unsupported, "embedding_length_per_layer_input", "must be a multiple of 4");
    }
    config.embedding_scale = std::sqrt(static_cast<float>(config.width));
    config.attention_scale = 1;
    config.logit_softcap = read_softcap(reader, "final_logit_softcapping");
    config.gate = kernels::Gate::gelu;
    ETNA_CHECK(reader.status());
    return config;
}

std::string scale_name(uint32_t layer) {
    return tensor_name(layer, "layer_output_scale.weight");
}

TensorTable declare_gemma4(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    declare_per_layer_inputs(table, config);
    bool has_full_layers = false;
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.head_norms = true, .post_norm = true});
        if (config.has_experts(layer)) {
            declare_parallel_experts(table, config, layer);
        } else {
            declare_feed_forward(table, config, layer, {.post_norm = true});
        }
        declare_per_layer(table, config, layer);
        table.vector(scale_name(layer), 1, Presence::optional);
        has_full_layers = has_full_layers || config.layers[layer].attention()->group == 0;
    }
    table.host(std::string(rotary_divisors_name), config.cache_groups[0].rotary.dims / 2,
               has_full_layers ? Presence::required : Presence::optional);
    return table;
}

/// The norm of a layer's last addition to the residual.
PostNorm& last_norm_of(Layer& layer) {
    if (layer.per_layer)
        return layer.per_layer->down.post_norm;
    auto* const parallel = std::get_if<ParallelExpertsBlock>(&*layer.feed_forward);
    return parallel != nullptr ? parallel->post_norm
                               : std::get<FeedForwardBlock>(*layer.feed_forward).down.post_norm;
}

/// A layer's output is scaled where its last block adds to the residual.
Decoder assemble_gemma4(const Config& config, const Weights& weights) {
    Decoder decoder = assemble_decoder(config, weights);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        Layer& one = decoder.layers[layer];
        last_norm_of(one).scale = weights.find_vector(scale_name(layer));
    }
    return decoder;
}

} // namespace

const Architecture gemma4_architecture{
    .name = "gemma4",
    .read_config = read_gemma4,
    .declare = declare_gemma4,
    .assemble = assemble_gemma4,
    .models = "Gemma 4, also with experts (text)",
    .peer = "1.6e-02 (3 files)",
    .definition = "modeling_gemma4.py",
    .checks = "heads of 16 to 512 by layer, shared keys and values, keys as values, inputs of layers, "
              "experts in parallel with dense blocks, in F32 and Q8_0"};

} // namespace etna::model
