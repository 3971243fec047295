#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// GLM-4 of 2025, dense (transformers, modeling_glm4.py): pre- and post-norms, a part of each head rotates,
// fused gate and up. In files with coordinates of an image (rope.dimension_sections), which are equal for
// text, the rows of attn_q and attn_k are permuted. Layers that predict further tokens are not used.
namespace etna::model {
namespace {

Result<Config> read_glm4(const gguf::File& file) {
    MetadataReader reader(file, "glm4");
    const auto pairs =
        reader.has("rope.dimension_sections") ? kernels::RotaryPairs::halves : kernels::RotaryPairs::adjacent;
    Config config = read_common(reader, pairs);
    refuse_experts(reader);
    read_further_layers(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_glm4(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.biases = Biases::any, .post_norm = true});
        declare_feed_forward(table, config, layer, {.storage = Storage::fused, .post_norm = true});
    }
    ignore_further_layers(table, config);
    return table;
}

} // namespace

const Architecture glm4_architecture{.name = "glm4",
                                     .read_config = read_glm4,
                                     .declare = declare_glm4,
                                     .assemble = assemble_decoder,
                                     .models = "GLM-4 of 2025 (dense)",
                                     .peer = "1.2e-05 (4 files)",
                                     .definition = "modeling_glm4.py",
                                     .checks = "partial rotation, norms before and after each block"};

} // namespace etna::model
