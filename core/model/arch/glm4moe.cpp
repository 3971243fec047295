#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// GLM-4.5 and later mixtures (transformers, modeling_glm4_moe.py): a part of each head rotates, norms on
// heads in the larger models, leading dense layers, experts chosen by biased sigmoids, and a shared expert.
// The norm before the feed-forward block is stored as post_attention_norm. The first layer that predicts
// further tokens is a draft head.
namespace etna::model {
namespace {

Result<Config> read_glm4moe(const gguf::File& file) {
    MetadataReader reader(file, "glm4moe");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    config.experts = read_biased_experts(reader, config);
    read_shared_count(reader, config.experts);
    config.feed_forward_norm = post_attention_norm;
    read_further_layers(reader, config);
    read_draft_head(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_glm4moe(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.biases = Biases::any, .may_have_head_norms = true});
        if (config.has_experts(layer)) {
            declare_experts(table, config, layer);
        } else {
            declare_feed_forward(table, config, layer);
        }
    }
    declare_draft_head(table, config);
    ignore_further_layers(table, config);
    return table;
}

} // namespace

const Architecture glm4moe_architecture{.name = "glm4moe",
                                        .read_config = read_glm4moe,
                                        .declare = declare_glm4moe,
                                        .assemble = assemble_decoder,
                                        .models = "GLM-4.5, GLM-4.6 and GLM-4.7, with experts",
                                        .peer = "8.1e-06 (1 file)",
                                        .definition = "modeling_glm4_moe.py",
                                        .checks = "leading dense layers, experts chosen by biased sigmoids "
                                                  "with a shared one, in F32, F16, Q8_0, Q4_K and Q6_K"};

} // namespace etna::model
