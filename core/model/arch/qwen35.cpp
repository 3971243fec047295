#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"

#include <fmt/format.h>

// Qwen3.5, dense (transformers, modeling_qwen3_5.py; arXiv 2412.06464, 2505.06708): three gated delta nets,
// then attention with QK-norm and an output gate, which rotates a part of each head. The norm before the
// feed-forward block is stored as post_attention_norm. Parts of a head rotate by the coordinates of an image
// (rope.dimension_sections), which are equal for text. Layers that predict further tokens are not used.
namespace etna::model {
namespace {

/// Whether each layer is recurrent: as listed, or all but every full_attention_interval-th.
std::vector<bool> read_recurrent_layers(MetadataReader& reader, uint32_t layers) {
    std::vector<bool> recurrent = read_layer_flags(reader, "attention.recurrent_layers", layers);
    const uint32_t interval = reader.integer("full_attention_interval", {.min = 1, .max = layers_max}, 4);
    for (auto layer = static_cast<uint32_t>(recurrent.size()); layer < layers; ++layer)
        recurrent.push_back((layer + 1) % interval != 0);
    return recurrent;
}

Result<Config> read_qwen35(const gguf::File& file) {
    MetadataReader reader(file, "qwen35");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    refuse_experts(reader);
    config.feed_forward_norm = post_attention_norm;
    const uint32_t stored_layers = config.layer_count();
    config.ignored_layers = reader.integer("nextn_predict_layers", {.min = 0, .max = stored_layers - 1}, 0);
    const DeltaNetConfig net = read_delta_net(reader);
    const std::vector<bool> recurrent = read_recurrent_layers(reader, stored_layers);
    config.layers.resize(stored_layers - config.ignored_layers);
    bool has_attention = false;
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        auto& mixer = config.layers[layer].mixer;
        if (recurrent[layer]) {
            mixer = net;
        } else {
            std::get<AttentionConfig>(mixer).output_gate = true;
            has_attention = true;
        }
    }
    if (!has_attention)
        reader.fail(ErrorKind::unsupported, "block_count", "no layer has attention");
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_qwen35(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        if (config.layers[layer].attention() != nullptr) {
            declare_attention(table, config, layer, {.head_norms = true});
        } else {
            declare_delta_net(table, config, layer);
        }
        declare_feed_forward(table, config, layer);
    }
    for (uint32_t i = 0; i < config.ignored_layers; ++i)
        table.ignore(fmt::format("blk.{}.", config.layer_count() + i));
    return table;
}

} // namespace

const Architecture qwen35_architecture{
    .name = "qwen35", .read_config = read_qwen35, .declare = declare_qwen35, .assemble = assemble_decoder};

} // namespace etna::model
