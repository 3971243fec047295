#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

#include <cmath>

// EmbeddingGemma (arXiv 2509.20354): the layers of Gemma 3 without a causal mask, with windows on both sides.
// The dense layers after the pooling are read on the host.
namespace etna::model {
namespace {

Result<Config> read_gemma_embedding(const gguf::File& file) {
    MetadataReader reader(file, "gemma-embedding");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    refuse_experts(reader);
    const RotaryConfig& full = config.cache_groups[0].rotary;
    add_windowed_layers(reader, config,
                        {.window_tokens = read_window(reader, 0),
                         .period = 6,
                         .rotary = {.dims = full.dims, .base = 10000, .pairs = full.pairs},
                         .sides = WindowSides::both});
    config.is_encoder = true;
    config.embedding_scale = std::sqrt(static_cast<float>(config.width));
    config.gate = kernels::Gate::gelu;
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_gemma_embedding(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.head_norms = true, .post_norm = true});
        declare_feed_forward(table, config, layer, {.post_norm = true});
    }
    table.ignore("dense_2.");
    table.ignore("dense_3.");
    return table;
}

} // namespace

const Architecture gemma_embedding_architecture{.name = "gemma-embedding",
                                                .read_config = read_gemma_embedding,
                                                .declare = declare_gemma_embedding,
                                                .assemble = assemble_decoder,
                                                .models = "EmbeddingGemma",
                                                .peer = "1.4e-08 (3 files)",
                                                .definition = "arXiv 2509.20354",
                                                .checks = "hidden states, windows"};

} // namespace etna::model
