#include "core/model/arch/decoder.hpp"
#include "core/model/arch/encoder_layers.hpp"
#include "core/model/arch/registry.hpp"

#include <variant>

// ModernBERT (arXiv 2412.13663): RoPE, layer norms without biases before the blocks, GeGLU. A norm of the
// embedding replaces the first layer's first norm. Two of three layers have a bidirectional window with
// separate RoPE parameters.
namespace etna::model {
namespace {

/// Every third layer, the first one included, attends to all positions.
constexpr uint32_t full_period = 3;

void add_windows(MetadataReader& reader, Config& config) {
    const uint32_t window = read_window(reader, 0);
    if (window == 0)
        return;
    CacheGroup windowed = config.cache_groups[0];
    windowed.reach = window / 2;
    windowed.rotary.base = reader.number("rope.freq_base_swa", {.min = 1, .max = 1e12}, 10000);
    config.cache_groups.push_back(windowed);
    const uint32_t period =
        reader.integer("attention.sliding_window_pattern", {.min = 1, .max = layers_max}, full_period);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        if (layer % period != 0)
            config.layers[layer].attention()->group = 1;
    }
}

Result<Config> read_modern_bert(const gguf::File& file) {
    MetadataReader reader(file, "modern-bert");
    Config config = read_common(reader, kernels::RotaryPairs::halves, LayerLists::alike, NormKind::layer);
    refuse_experts(reader);
    config.is_encoder = true;
    config.norms_embedding = true;
    config.gate = kernels::Gate::gelu_erf;
    add_windows(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_modern_bert(const Config& config) {
    TensorTable table;
    table.matrix("token_embd.weight", config.vocabulary, config.width);
    table.renamed_vector("token_embd_norm.weight", "blk.0.attn_norm.weight", config.width);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        if (layer > 0)
            table.vector(tensor_name(layer, "attn_norm.weight"), config.width);
        table.vector(tensor_name(layer, "ffn_norm.weight"), config.width);
        declare_encoder_matrices(
            table, config, layer,
            {.projections = Storage::fused, .gate_and_up = Storage::fused, .has_gate = true});
    }
    table.vector("output_norm.weight", config.width);
    return table;
}

} // namespace

const Architecture modern_bert_architecture{.name = "modern-bert",
                                            .read_config = read_modern_bert,
                                            .declare = declare_modern_bert,
                                            .assemble = assemble_decoder,
                                            .models = "ModernBERT (embeddings)",
                                            .peer = "8.1e-08 (3 files)",
                                            .definition = "arXiv 2412.13663",
                                            .checks = "hidden states, windows"};

} // namespace etna::model
