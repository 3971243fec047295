#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

#include <cmath>

// Gemma 3, text model (arXiv 2503.19786): sliding-window layers with their own RoPE parameters, full
// attention in every sixth layer; pre- and post-norms, QK-norm, GELU-gated MLP, scaled embedding.
namespace etna::model {
namespace {

/// The largest model scales scores by its width per head, which differs from its head size. Files have no key
/// for this: the layer count identifies that model.
constexpr uint32_t gemma3_27b_layers = 62;

Result<Config> read_gemma3(const gguf::File& file) {
    MetadataReader reader(file, "gemma3");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    refuse_experts(reader);
    const RotaryConfig& full = config.cache_groups[0].rotary;
    add_windowed_layers(reader, config,
                        {.window_tokens = read_window(reader, 0),
                         .period = 6,
                         .rotary = {.dims = full.dims, .base = 10000, .pairs = full.pairs}});
    config.embedding_scale = std::sqrt(static_cast<float>(config.width));
    if (config.layer_count() == gemma3_27b_layers) {
        config.attention_scale =
            std::sqrt(static_cast<float>(config.max_of<AttentionConfig>(&AttentionConfig::q_heads)) /
                      static_cast<float>(config.width));
    }
    config.attention_softcap = read_softcap(reader, "attn_logit_softcapping");
    config.logit_softcap = read_softcap(reader, "final_logit_softcapping");
    config.gate = kernels::Gate::gelu;
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_gemma3(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.head_norms = true, .post_norm = true});
        declare_feed_forward(table, config, layer, {.post_norm = true});
    }
    return table;
}

} // namespace

const Architecture gemma3_architecture{.name = "gemma3",
                                       .read_config = read_gemma3,
                                       .declare = declare_gemma3,
                                       .assemble = assemble_decoder,
                                       .models = "Gemma 3 (text)",
                                       .peer = "1.2e-03 (5 files)",
                                       .definition = "arXiv 2503.19786",
                                       .checks = "sliding windows, linear scaling, soft caps"};

} // namespace etna::model
