#include "core/model/arch/decoder.hpp"
#include "core/model/arch/delta_layers.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"
#include "core/model/blocks/delta_net.hpp"

// Qwen3.5 with experts (transformers, modeling_qwen3_5_moe.py): the layers of dense Qwen3.5, with experts as
// in Qwen3 MoE and a shared expert with a row gate instead of the feed-forward blocks.
namespace etna::model {
namespace {

Result<Config> read_qwen35moe(const gguf::File& file) {
    MetadataReader reader(file, "qwen35moe");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    config.experts = read_experts_and_shared(reader, config);
    config.feed_forward_norm = post_attention_norm;
    read_delta_layers(reader, config, read_delta_net(reader));
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_qwen35moe(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_delta_layer(table, config, layer);
        declare_experts(table, config, layer);
    }
    declare_draft_head(table, config);
    ignore_further_layers(table, config);
    return table;
}

} // namespace

const Architecture qwen35moe_architecture{
    .name = "qwen35moe",
    .read_config = read_qwen35moe,
    .declare = declare_qwen35moe,
    .assemble = assemble_decoder,
    .models = "Qwen3.5 and Qwen3.6 with experts, Ornith 1.0 and 1.5 (text)",
    .peer = "3.1e-05 (4 files)",
    .definition = "modeling_qwen3_5_moe.py",
    .checks = "gated delta nets, partial rotation, experts with a shared one, in F32, F16, BF16 and Q8_0"};

} // namespace etna::model
