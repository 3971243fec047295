#include "core/model/arch/decoder.hpp"
#include "core/model/arch/delta_layers.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"
#include "core/model/blocks/delta_net.hpp"

// Qwen3.5, dense (transformers, modeling_qwen3_5.py; arXiv 2412.06464, 2505.06708): three gated delta nets,
// then attention with QK-norm and an output gate, which rotates a part of each head. The norm before the
// feed-forward block is stored as post_attention_norm. Parts of a head rotate by the coordinates of an image
// (rope.dimension_sections), which are equal for text. The first layer that predicts further tokens is
// a draft head.
namespace etna::model {
namespace {

Result<Config> read_qwen35(const gguf::File& file) {
    MetadataReader reader(file, "qwen35");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    refuse_experts(reader);
    config.feed_forward_norm = post_attention_norm;
    read_delta_layers(reader, config, read_delta_net(reader));
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_qwen35(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_delta_layer(table, config, layer);
        declare_feed_forward(table, config, layer);
    }
    declare_draft_head(table, config);
    ignore_further_layers(table, config);
    return table;
}

} // namespace

const Architecture qwen35_architecture{.name = "qwen35",
                                       .read_config = read_qwen35,
                                       .declare = declare_qwen35,
                                       .assemble = assemble_decoder,
                                       .models = "Qwen3.5, Qwen3.6 and Qwen3.8 (dense, text)",
                                       .peer = "2.6e-05 (4 files)",
                                       .definition = "modeling_qwen3_5.py, arXiv 2412.06464, 2505.06708",
                                       .checks = "gated delta nets, partial rotation"};

} // namespace etna::model
