#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// The text models of Qwen2-VL and Qwen2.5-VL (arXiv 2409.12191, 2502.13923), and of Qwen3-VL (2511.21631):
// Qwen2, Qwen3 and Qwen3 MoE, of which parts of a head rotate by the coordinates of an image
// (rope.dimension_sections). The coordinates are equal for text, and the images' inputs of deeper layers
// (n_deepstack_layers) are zero.
namespace etna::model {
namespace {

template <AttentionTensors attention>
TensorTable declare_qwen_vl(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, attention);
        if (config.experts.count > 0) {
            declare_experts(table, config, layer);
        } else {
            declare_feed_forward(table, config, layer);
        }
    }
    return table;
}

Result<Config> read_qwen2vl(const gguf::File& file) {
    return read_config(file, "qwen2vl", kernels::RotaryPairs::halves);
}

Result<Config> read_qwen3vl(const gguf::File& file) {
    return read_config(file, "qwen3vl", kernels::RotaryPairs::halves);
}

Result<Config> read_qwen3vlmoe(const gguf::File& file) {
    MetadataReader reader(file, "qwen3vlmoe");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    config.experts = read_experts(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

} // namespace

const Architecture qwen2vl_architecture{.name = "qwen2vl",
                                        .read_config = read_qwen2vl,
                                        .declare = declare_qwen_vl<AttentionTensors{.biases = Biases::qkv}>,
                                        .assemble = assemble_decoder,
                                        .models = "Qwen2-VL, Qwen2.5-VL (text)",
                                        .peer = "1.0e-04 (4 files)",
                                        .definition = "arXiv 2409.12191, 2502.13923",
                                        .checks = "coordinates of a text in each part of a head"};
const Architecture qwen3vl_architecture{
    .name = "qwen3vl",
    .read_config = read_qwen3vl,
    .declare = declare_qwen_vl<AttentionTensors{.head_norms = true}>,
    .assemble = assemble_decoder,
    .models = "Qwen3-VL (text)",
    .peer = "1.0e-05 (4 files)",
    .definition = "arXiv 2511.21631",
    .checks = "coordinates of a text in each part of a head, in F32, BF16 and Q8_0"};
const Architecture qwen3vlmoe_architecture{
    .name = "qwen3vlmoe",
    .read_config = read_qwen3vlmoe,
    .declare = declare_qwen_vl<AttentionTensors{.head_norms = true}>,
    .assemble = assemble_decoder,
    .models = "Qwen3-VL with experts (text)",
    .peer = "1.1e-05 (4 files)",
    .definition = "arXiv 2511.21631",
    .checks = "coordinates of a text in each part of a head, experts, in F32, BF16 and Q8_0"};

} // namespace etna::model
