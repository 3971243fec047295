#include "core/model/arch/delta_layers.hpp"

#include "core/model/arch/decoder.hpp"
#include "core/model/blocks/attention.hpp"
#include "core/model/blocks/delta_net.hpp"

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

} // namespace

void read_delta_layers(MetadataReader& reader, Config& config, const DeltaNetConfig& net) {
    const uint32_t stored_layers = config.layer_count();
    read_further_layers(reader, config);
    const std::vector<bool> recurrent = read_recurrent_layers(reader, stored_layers);
    bool has_attention = false;
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        auto& mixer = config.layers[layer].mixer;
        if (recurrent[layer]) {
            mixer = net;
        } else {
            mixer.get_if<AttentionConfig>()->output_gate = true;
            has_attention = true;
        }
    }
    if (!has_attention)
        reader.fail(ErrorKind::unsupported, "block_count", "no layer has attention");
    read_draft_head(reader, config);
}

void declare_delta_layer(TensorTable& table, const Config& config, uint32_t layer) {
    if (config.layers[layer].attention() != nullptr) {
        declare_attention(table, config, layer, {.head_norms = true});
    } else {
        declare_delta_net(table, config, layer);
    }
}

} // namespace etna::model
