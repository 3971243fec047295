#include "core/model/arch/decoder.hpp"
#include "core/model/arch/encoder_layers.hpp"
#include "core/model/arch/registry.hpp"

#include <variant>

// Jina BERT v2 (arXiv 2310.19923): BERT with bidirectional ALiBi instead of position embeddings, and GeGLU.
namespace etna::model {
namespace {

constexpr float largest_bias = 8;

Result<Config> read_jina_bert_v2(const gguf::File& file) {
    MetadataReader reader(file, "jina-bert-v2");
    Config config = read_post_norm_encoder(reader, kernels::RotaryPairs::halves);
    config.gate = kernels::Gate::gelu_erf;
    config.cache_groups = {CacheGroup{}}; // no rotary embedding
    for (LayerConfig& layer : config.layers) {
        if (auto* const attention = layer.attention()) {
            attention->rotates = false;
            attention->alibi = largest_bias;
        }
    }
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_jina_bert_v2(const Config& config) {
    TensorTable table;
    declare_post_norm_encoder(table, config,
                              {.has_gate = true, .has_biases = true, .has_output_biases = true});
    table.ignore("cls."); // head of a reranker, computed on the host
    return table;
}

} // namespace

const Architecture jina_bert_v2_architecture{.name = "jina-bert-v2",
                                             .read_config = read_jina_bert_v2,
                                             .declare = declare_jina_bert_v2,
                                             .assemble = assemble_decoder,
                                             .models =
                                                 "Jina Embeddings v2 (English, German, Spanish, Chinese)",
                                             .peer = "1.8e-07 (3 files)",
                                             .definition = "arXiv 2310.19923",
                                             .checks = "hidden states, ALiBi"};

} // namespace etna::model
