#include "core/model/arch/decoder.hpp"
#include "core/model/arch/llama.hpp"
#include "core/model/arch/registry.hpp"

// Mistral Small 3 and Ministral 3 (transformers, modeling_ministral3.py): the tensors of Llama, YaRN, and
// queries that grow with the logarithm of their position.
namespace etna::model {
namespace {

Result<Config> read_mistral3(const gguf::File& file) {
    MetadataReader reader(file, "mistral3");
    Config config = read_common(reader, kernels::RotaryPairs::adjacent);
    config.experts = read_optional_experts(reader, config);
    config.temperature_scale = static_cast<float>(reader.number(
        "attention.temperature_scale", {.min = 0, .max = 100, .lower = LowerBound::inclusive}, 0));
    config.temperature_tokens = config.cache_groups[0].rotary.original_context;
    ETNA_CHECK(reader.status());
    return config;
}

} // namespace

const Architecture mistral3_architecture{.name = "mistral3",
                                         .read_config = read_mistral3,
                                         .declare = declare_llama,
                                         .assemble = assemble_decoder,
                                         .models = "Ministral 3, Mistral Small 3",
                                         .peer = "9.3e-06 (5 files)",
                                         .definition = "modeling_ministral3.py",
                                         .checks = "YaRN, queries scaled by position, experts"};

} // namespace etna::model
