#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// SmolLM3 (transformers, modeling_smollm3.py): Llama without rotation in every fourth layer.
namespace etna::model {
namespace {

/// A constant of the published models, not a key of the files.
constexpr uint32_t no_rotation_period = 4;

Result<Config> read_smollm3(const gguf::File& file) {
    ETNA_TRY(Config config, read_config(file, "smollm3", kernels::RotaryPairs::adjacent));
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer)
        config.layers[layer].attention()->rotates = (layer + 1) % no_rotation_period != 0;
    return config;
}

TensorTable declare_smollm3(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {});
        declare_feed_forward(table, config, layer);
    }
    return table;
}

} // namespace

const Architecture smollm3_architecture{.name = "smollm3",
                                        .read_config = read_smollm3,
                                        .declare = declare_smollm3,
                                        .assemble = assemble_decoder,
                                        .models = "SmolLM3",
                                        .peer = "9.7e-06 (4 files)",
                                        .definition = "modeling_smollm3.py",
                                        .checks = "layers without rotation"};

} // namespace etna::model
