#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"

// Llama 1 to 3.x, Mistral, SmolLM and others of the same architecture. Rows of attn_q and attn_k are permuted
// in the file, so that adjacent elements rotate together.
namespace etna::model {
namespace {

Result<Config> read_llama(const gguf::File& file) {
    return read_config(file, "llama", kernels::RotaryPairs::adjacent);
}

TensorTable declare_llama(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    declare_rotary(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.biases = Biases::any});
        declare_feed_forward(table, config, layer);
    }
    return table;
}

} // namespace

const Architecture llama_architecture{
    .name = "llama", .read_config = read_llama, .declare = declare_llama, .assemble = assemble_decoder};

} // namespace etna::model
