#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// Qwen3 MoE (arXiv 2505.09388): attention as in dense Qwen3; each row is routed to the most probable experts,
// with weights that sum to 1.
namespace etna::model {
namespace {

Result<Config> read_qwen3moe(const gguf::File& file) {
    MetadataReader reader(file, "qwen3moe");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    config.experts = read_experts(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_qwen3moe(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.head_norms = true});
        declare_experts(table, config, layer);
    }
    return table;
}

} // namespace

const Architecture qwen3moe_architecture{.name = "qwen3moe",
                                         .read_config = read_qwen3moe,
                                         .declare = declare_qwen3moe,
                                         .assemble = assemble_decoder,
                                         .models = "Qwen3 with experts, Qwen3-Coder",
                                         .peer = "1.5e-05 (5 files)",
                                         .definition = "arXiv 2505.09388",
                                         .checks = "experts in F32, F16, BF16, Q8_0, Q4_K, Q5_0 and Q6_K"};

} // namespace etna::model
