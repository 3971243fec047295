#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// Qwen2 and Qwen2.5, dense (arXiv 2407.10671): QKV biases, NeoX-style RoPE.
namespace etna::model {
namespace {

Result<Config> read_qwen2(const gguf::File& file) {
    return read_config(file, "qwen2", kernels::RotaryPairs::halves);
}

TensorTable declare_qwen2(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.biases = Biases::qkv});
        declare_feed_forward(table, config, layer);
    }
    return table;
}

} // namespace

const Architecture qwen2_architecture{.name = "qwen2",
                                      .read_config = read_qwen2,
                                      .declare = declare_qwen2,
                                      .assemble = assemble_decoder,
                                      .models = "Qwen2, Qwen2.5",
                                      .peer = "1.3e-05 (4 files)",
                                      .definition = "arXiv 2407.10671",
                                      .checks = "YaRN"};

} // namespace etna::model
