#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// Qwen3, dense (arXiv 2505.09388): QK-norm before RoPE, NeoX-style RoPE.
namespace etna::model {
namespace {

Result<Config> read_qwen3(const gguf::File& file) {
    return read_config(file, "qwen3", kernels::RotaryPairs::halves);
}

TensorTable declare_qwen3(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    table.ignore("cls."); // of a reranker: read on the host
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.head_norms = true});
        declare_feed_forward(table, config, layer);
    }
    return table;
}

} // namespace

const Architecture qwen3_architecture{.name = "qwen3",
                                      .read_config = read_qwen3,
                                      .declare = declare_qwen3,
                                      .assemble = assemble_decoder,
                                      .models = "Qwen3 (dense), Qwen3 Embedding, Qwen3 Reranker",
                                      .peer = "1.1e-05 (5 files)",
                                      .definition = "arXiv 2505.09388",
                                      .checks = "YaRN"};

} // namespace etna::model
