#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"
#include "core/model/blocks/mamba2.hpp"

// Nemotron-H and Nemotron 3 (arXiv 2504.03624; transformers, modeling_nemotron_h.py): each layer is one block
// after one norm. Layers with key/value heads have attention without rotation, those with a feed-forward
// length have squared ReLU without a gate, in nemotron_h_moe experts chosen by biased sigmoids and a shared
// one; the others are of Mamba 2. The first layer that predicts further tokens is a draft head, which has
// attention and experts (llama.cpp, conversion/nemotron.py).
namespace etna::model {
namespace {

void read_blocks(MetadataReader& reader, Config& config) {
    const Mamba2Config mamba = read_mamba2(reader, config);
    config.attention_scale =
        static_cast<float>(reader.number("attention.scale", {.min = 0, .max = 1e6}, config.attention_scale));
    config.feed_forward_norm = "attn_norm";
    config.experts.gated = false;
    config.gate = kernels::Gate::relu;
    read_further_layers(reader, config);
    for (LayerConfig& layer : config.layers) {
        auto* const attention = layer.attention();
        if (attention != nullptr && layer.feed_forward > 0) {
            reader.fail(ErrorKind::unsupported, "feed_forward_length",
                        "layers with attention and a feed-forward block are not supported");
        }
        if (attention != nullptr) {
            attention->rotates = false;
        } else if (layer.feed_forward == 0) {
            layer.mixer = mamba;
        }
    }
    config.draft_feed_forward_norm = post_attention_norm;
    read_draft_head(reader, config);
}

Result<Config> read_nemotron_h(const gguf::File& file) {
    MetadataReader reader(file, "nemotron_h");
    Config config = read_common(reader, kernels::RotaryPairs::halves, LayerLists::with_zeros);
    refuse_experts(reader);
    read_blocks(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

Result<Config> read_nemotron_h_moe(const gguf::File& file) {
    MetadataReader reader(file, "nemotron_h_moe");
    Config config = read_common(reader, kernels::RotaryPairs::halves, LayerLists::with_zeros);
    config.experts = read_biased_experts(reader, config);
    config.experts.shared_feed_forward =
        reader.integer("expert_shared_feed_forward_length", {.min = 1, .max = width_max});
    if (reader.integer("moe_latent_size", {.min = 0, .max = width_max}, 0) > 0)
        reader.fail(ErrorKind::unsupported, "moe_latent_size", "experts of a latent size are not supported");
    read_blocks(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_nemotron_h(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        if (config.layers[layer].attention() != nullptr) {
            declare_attention(table, config, layer, {.biases = Biases::any});
        } else if (config.layers[layer].feed_forward == 0) {
            declare_mamba2(table, config, layer);
        }
        if (config.layers[layer].feed_forward == 0)
            continue;
        if (config.has_experts(layer)) {
            declare_experts(table, config, layer);
        } else {
            declare_feed_forward(table, config, layer, {.gate = false});
        }
    }
    declare_draft_head(table, config);
    ignore_further_layers(table, config);
    return table;
}

} // namespace

const Architecture nemotron_h_architecture{.name = "nemotron_h",
                                           .read_config = read_nemotron_h,
                                           .declare = declare_nemotron_h,
                                           .assemble = assemble_decoder,
                                           .models = "Nemotron-H, Nemotron Nano 2",
                                           .peer = "1.1e-05 (1 file)",
                                           .definition = "modeling_nemotron_h.py, arXiv 2504.03624",
                                           .checks =
                                               "layers of Mamba 2, attention without rotation or squared "
                                               "ReLU, in F32, F16, BF16, Q8_0, Q4_K, Q5_K and Q6_K"};

const Architecture nemotron_h_moe_architecture{
    .name = "nemotron_h_moe",
    .read_config = read_nemotron_h_moe,
    .declare = declare_nemotron_h,
    .assemble = assemble_decoder,
    .models = "Nemotron 3, Nemotron 3.5",
    .peer = "1.6e-05 (1 file)",
    .definition = "modeling_nemotron_h.py",
    .checks = "layers of nemotron_h, experts chosen by biased sigmoids with a shared one"};

} // namespace etna::model
