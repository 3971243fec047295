#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"
#include "core/model/blocks/short_convolution.hpp"

// LFM2 (transformers, modeling_lfm2.py, modeling_lfm2_moe.py): short convolutions, and attention with QK-norm
// in the layers to which attention.head_count_kv gives heads. The last norm is stored as token_embd_norm.
// lfm2moe has leading dense layers, then experts chosen by biased sigmoids.
namespace etna::model {
namespace {

void read_layers(MetadataReader& reader, Config& config) {
    const ShortConvolutionConfig convolution{
        .channels = config.width,
        .width = reader.integer("shortconv.l_cache", {.min = 2, .max = kernels::convolution_width_max})};
    for (LayerConfig& layer : config.layers) {
        if (layer.attention() == nullptr)
            layer.mixer = convolution;
    }
    config.cache_groups[0].window_tokens = read_window(reader, 0);
    config.output_norm = "token_embd_norm";
}

Result<Config> read_lfm2(const gguf::File& file) {
    MetadataReader reader(file, "lfm2");
    Config config = read_common(reader, kernels::RotaryPairs::halves, LayerLists::with_zeros);
    refuse_experts(reader);
    read_layers(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

Result<Config> read_lfm2moe(const gguf::File& file) {
    MetadataReader reader(file, "lfm2moe");
    Config config = read_common(reader, kernels::RotaryPairs::halves, LayerLists::with_zeros);
    config.experts = read_biased_experts(reader, config);
    read_layers(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_lfm2(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        if (config.layers[layer].attention() != nullptr) {
            declare_attention(table, config, layer, {.head_norms = true});
        } else {
            declare_short_convolution(table, config, layer);
        }
        if (config.has_experts(layer)) {
            declare_experts(table, config, layer);
        } else {
            declare_feed_forward(table, config, layer);
        }
    }
    return table;
}

} // namespace

const Architecture lfm2_architecture{.name = "lfm2",
                                     .read_config = read_lfm2,
                                     .declare = declare_lfm2,
                                     .assemble = assemble_decoder,
                                     .models = "LFM2",
                                     .peer = "1.0e-05 (1 file)",
                                     .definition = "modeling_lfm2.py",
                                     .checks = "gated short convolutions, in F32, F16, Q8_0 and Q4_K"};

const Architecture lfm2moe_architecture{
    .name = "lfm2moe",
    .read_config = read_lfm2moe,
    .declare = declare_lfm2,
    .assemble = assemble_decoder,
    .models = "LFM2 with experts",
    .peer = "1.1e-05 (1 file)",
    .definition = "modeling_lfm2_moe.py",
    .checks = "gated short convolutions, experts chosen by biased sigmoids, in F32, F16, Q8_0 and Q4_K"};

} // namespace etna::model
