#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"
#include "core/model/blocks/mamba2.hpp"

#include <fmt/format.h>

// Falcon H1 (arXiv 2507.22448): attention and Mamba 2 read one norm of the residual and are added to it, then
// a SwiGLU MLP. Converters multiply weights by the model's multipliers.
namespace etna::model {
namespace {

/// A block of the file is two layers: attention, then Mamba 2 over the same norm with the MLP. Returns a
/// configuration with one of them for each block, so that tensors have the block's number.
Config layers_of(const Config& config, uint32_t which) {
    Config part = config;
    part.layers.clear();
    for (uint32_t layer = which; layer < config.layer_count(); layer += 2)
        part.layers.push_back(config.layers[layer]);
    return part;
}

Result<Config> read_falcon_h1(const gguf::File& file) {
    MetadataReader reader(file, "falcon-h1");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    refuse_experts(reader);
    Mamba2Config mamba = read_mamba2(reader, config);
    mamba.has_output_norm = file.find_tensor(tensor_name(0, "ssm_norm.weight")) != nullptr;
    mamba.shares_norm = true;
    std::vector<LayerConfig> layers;
    for (const LayerConfig& layer : config.layers) {
        layers.push_back({.mixer = layer.mixer, .feed_forward = 0});
        layers.push_back({.mixer = mamba, .feed_forward = layer.feed_forward});
    }
    config.layers = std::move(layers);
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_falcon_h1(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    declare_rotary(table, config);
    const Config attention = layers_of(config, 0);
    const Config mamba = layers_of(config, 1);
    for (uint32_t block = 0; block < attention.layer_count(); ++block) {
        const auto name = [&](std::string_view part) { return tensor_name(block, part); };
        const uint32_t inner = mamba.layers[block].feed_forward;
        declare_attention(table, attention, block, {.biases = Biases::any});
        declare_mamba2(table, mamba, block);
        table.renamed_vector(name("ffn_norm"), name("ffn_norm.weight"), config.width);
        table.matrix(name("ffn_gate.weight"), inner, config.width);
        table.matrix(name("ffn_up.weight"), inner, config.width);
        table.matrix(name("ffn_down.weight"), config.width, inner);
    }
    return table;
}

Decoder assemble_falcon_h1(const Config& config, const Weights& weights) {
    const Config attention = layers_of(config, 0);
    Decoder decoder = assemble_decoder(attention, weights);
    Decoder others = assemble_decoder(layers_of(config, 1), weights);
    std::vector<Layer> layers;
    for (uint32_t block = 0; block < attention.layer_count(); ++block) {
        layers.push_back(std::move(decoder.layers[block]));
        layers.back().mixer->norm().is_shared = true;
        layers.push_back(std::move(others.layers[block]));
    }
    decoder.layers = std::move(layers);
    return decoder;
}

} // namespace

const Architecture falcon_h1_architecture{.name = "falcon-h1",
                                          .read_config = read_falcon_h1,
                                          .declare = declare_falcon_h1,
                                          .assemble = assemble_falcon_h1,
                                          .models = "Falcon H1",
                                          .peer = "1.4e-05 (1 file)",
                                          .definition = "arXiv 2507.22448",
                                          .checks =
                                              "attention and Mamba 2 over one norm, in F32, Q8_0 and Q4_K"};

} // namespace etna::model
