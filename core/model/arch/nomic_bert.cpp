#include "core/model/arch/decoder.hpp"
#include "core/model/arch/encoder_layers.hpp"
#include "core/model/arch/registry.hpp"

// Nomic BERT (arXiv 2402.01613): BERT with RoPE and SwiGLU, without biases.
namespace etna::model {
namespace {

Result<Config> read_nomic_bert(const gguf::File& file) {
    MetadataReader reader(file, "nomic-bert");
    Config config = read_post_norm_encoder(reader, kernels::RotaryPairs::halves);
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_nomic_bert(const Config& config) {
    TensorTable table;
    declare_post_norm_encoder(table, config, {.projections = Storage::fused, .has_gate = true});
    return table;
}

} // namespace

const Architecture nomic_bert_architecture{.name = "nomic-bert",
                                           .read_config = read_nomic_bert,
                                           .declare = declare_nomic_bert,
                                           .assemble = assemble_decoder,
                                           .models = "Nomic Embed v1, v1.5 (embeddings)",
                                           .peer = "8.4e-08 (3 files)",
                                           .definition = "arXiv 2402.01613",
                                           .checks = "hidden states"};

} // namespace etna::model
