#include "core/model/blocks/mamba2.hpp"

#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"

// Mamba 2 (arXiv 2405.21060; transformers, modeling_mamba2.py): every layer is a state space after one norm.
// Converters write a feed_forward_length and an attention.head_count of 0, and Codestral's tensors under the
// same names. No layer has keys, so that pages only count positions.
namespace etna::model {
namespace {

Result<Config> read_mamba2_config(const gguf::File& file) {
    MetadataReader reader(file, "mamba2");
    Config config = read_common(reader, kernels::RotaryPairs::halves, LayerLists::none);
    const Mamba2Config mamba = read_mamba2(reader, config);
    for (LayerConfig& layer : config.layers)
        layer.mixer = mamba;
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_mamba2_tensors(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer)
        declare_mamba2(table, config, layer);
    return table;
}

} // namespace

const Architecture mamba2_architecture{.name = "mamba2",
                                       .read_config = read_mamba2_config,
                                       .declare = declare_mamba2_tensors,
                                       .assemble = assemble_decoder,
                                       .models = "Mamba 2, Codestral Mamba",
                                       .peer = "2.1e-05 (4 files)",
                                       .definition = "modeling_mamba2.py, arXiv 2405.21060",
                                       .checks = "layers of Mamba 2 alone, in F32, Q8_0 and Q4_K"};

} // namespace etna::model
