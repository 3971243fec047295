#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// gpt-oss (arXiv 2508.10925): every second layer has full attention, the others a sliding window; a sink in
// each head's softmax; biases throughout; experts with clamped SwiGLU; YaRN. The norm before the experts is
// stored as post_attention_norm.
namespace etna::model {
namespace {

Result<Config> read_gpt_oss(const gguf::File& file) {
    MetadataReader reader(file, "gpt-oss");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    config.experts = read_experts(reader, config);
    config.gate = kernels::Gate::clamped_silu;
    config.feed_forward_norm = post_attention_norm;
    add_windowed_layers(
        reader, config,
        {.window_tokens = read_window(reader), .period = 2, .rotary = config.cache_groups[0].rotary});
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_gpt_oss(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.biases = Biases::all, .sinks = true});
        declare_experts(table, config, layer, {.biases = true});
    }
    return table;
}

} // namespace

const Architecture gpt_oss_architecture{
    .name = "gpt-oss",
    .read_config = read_gpt_oss,
    .declare = declare_gpt_oss,
    .assemble = assemble_decoder,
    .models = "gpt-oss-20b, gpt-oss-120b",
    .peer = "1.1e-05 (5 files)",
    .definition = "arXiv 2508.10925",
    .checks = "attention sinks, sliding windows, experts with biases, in F32, F16, BF16, Q8_0 and MXFP4"};

} // namespace etna::model
