#include "core/model/arch/llama.hpp"

#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

// Llama 1 to 3.x, Mistral, Mixtral (arXiv 2401.04088), SmolLM and others of the same architecture. Rows of
// attn_q and attn_k are permuted in the file, so that adjacent elements rotate together.
namespace etna::model {
namespace {

Result<Config> read_llama(const gguf::File& file) {
    MetadataReader reader(file, "llama");
    Config config = read_common(reader, kernels::RotaryPairs::adjacent);
    config.experts = read_optional_experts(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

} // namespace

TensorTable declare_llama(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    declare_rotary(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.biases = Biases::any});
        if (config.experts.count > 0) {
            declare_experts(table, config, layer);
        } else {
            declare_feed_forward(table, config, layer);
        }
    }
    return table;
}

const Architecture llama_architecture{
    .name = "llama",
    .read_config = read_llama,
    .declare = declare_llama,
    .assemble = assemble_decoder,
    .models = "Llama 1 to 3.x, Mistral, Mixtral, SmolLM",
    .peer = "9.3e-05 (21 files)",
    .definition = "arXiv 2302.13971, 2307.09288, 2401.04088",
    .checks = "the trained weights of stories260K; linear, YaRN, LongRoPE and Llama 3 rope scaling, experts"};

} // namespace etna::model
