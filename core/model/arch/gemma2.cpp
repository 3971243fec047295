#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

#include <cmath>
// Gemma 2 (arXiv 2408.00118): every second layer has full attention, the others a sliding window; soft caps
// of scores and logits, pre- and post-norms, GELU-gated MLP, scaled embedding.
namespace etna::model {
namespace {

/// The largest model scales scores by its width per head, which differs from its head size. Files have no key
/// for this: the layer count identifies that model.
constexpr uint32_t gemma2_27b_layers = 46;

Result<Config> read_gemma2(const gguf::File& file) {
    MetadataReader reader(file, "gemma2");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    refuse_experts(reader);
    add_windowed_layers(
        reader, config,
        {.window_tokens = read_window(reader, 4096), .period = 2, .rotary = config.cache_groups[0].rotary});
    config.embedding_scale = std::sqrt(static_cast<float>(config.width));
    if (config.layer_count() == gemma2_27b_layers) {
        config.attention_scale =
            std::sqrt(static_cast<float>(config.max_of<AttentionConfig>(&AttentionConfig::q_heads)) /
                      static_cast<float>(config.width));
    }
    config.attention_softcap = read_softcap(reader, "attn_logit_softcapping", 50);
    config.logit_softcap = read_softcap(reader, "final_logit_softcapping", 30);
    config.gate = kernels::Gate::gelu;
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_gemma2(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.post_norm = true});
        declare_feed_forward(table, config, layer, {.post_norm = true});
    }
    return table;
}

} // namespace

const Architecture gemma2_architecture{.name = "gemma2",
                                       .read_config = read_gemma2,
                                       .declare = declare_gemma2,
                                       .assemble = assemble_decoder,
                                       .models = "Gemma 2",
                                       .peer = "1.5e-03 (4 files)",
                                       .definition = "arXiv 2408.00118",
                                       .checks = "sliding windows, soft caps"};

} // namespace etna::model
