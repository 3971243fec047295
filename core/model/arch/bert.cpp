#include "core/model/arch/decoder.hpp"
#include "core/model/arch/encoder_layers.hpp"
#include "core/model/arch/registry.hpp"

#include <variant>

// BERT (arXiv 1810.04805) and XLM-RoBERTa (1911.02116), which share one architecture in GGUF: learned
// position embeddings, bidirectional attention, GELU, and layer norms after the blocks.
namespace etna::model {
namespace {

Result<Config> read_bert(const gguf::File& file) {
    MetadataReader reader(file, "bert");
    Config config = read_post_norm_encoder(reader, kernels::RotaryPairs::halves);
    config.gate = kernels::Gate::gelu_erf;
    config.positions = config.context;
    config.cache_groups = {CacheGroup{}}; // no rotary embedding
    for (LayerConfig& layer : config.layers) {
        if (auto* const attention = layer.attention())
            attention->rotates = false;
    }
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_bert(const Config& config) {
    TensorTable table;
    declare_post_norm_encoder(table, config, {.has_biases = true, .has_output_biases = true});
    table.ignore("cls."); // head of a reranker, computed on the host
    return table;
}

} // namespace

const Architecture bert_architecture{.name = "bert",
                                     .read_config = read_bert,
                                     .declare = declare_bert,
                                     .assemble = assemble_decoder,
                                     .models =
                                         "BERT and XLM-RoBERTa: BGE, E5, MiniLM (embeddings, rerankers)",
                                     .peer = "7.0e-08 (6 files)",
                                     .definition = "arXiv 1810.04805, 1911.02116",
                                     .checks = "hidden states"};

} // namespace etna::model
