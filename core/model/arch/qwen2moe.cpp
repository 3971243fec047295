#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// Qwen1.5 and Qwen2 with experts (arXiv 2407.10671): attention as in dense Qwen2; routing weights of a
// softmax over all experts, and a shared expert with a row gate.
namespace etna::model {
namespace {

Result<Config> read_qwen2moe(const gguf::File& file) {
    MetadataReader reader(file, "qwen2moe");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    config.experts = read_experts_and_shared(reader, config);
    config.experts.normalised = false;
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_qwen2moe(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.biases = Biases::qkv});
        declare_experts(table, config, layer);
    }
    return table;
}

} // namespace

const Architecture qwen2moe_architecture{.name = "qwen2moe",
                                         .read_config = read_qwen2moe,
                                         .declare = declare_qwen2moe,
                                         .assemble = assemble_decoder,
                                         .models = "Qwen1.5 and Qwen2 with experts",
                                         .peer = "9.1e-06 (4 files)",
                                         .definition = "arXiv 2407.10671",
                                         .checks = "a shared expert, in F32, F16 and Q8_0"};

} // namespace etna::model
