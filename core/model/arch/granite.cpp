#include "core/model/arch/decoder.hpp"
#include "core/model/arch/llama.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"
#include "core/model/blocks/mamba2.hpp"

#include <optional>

// Granite 3 and 4 (transformers, modeling_granite.py, modeling_granitemoeshared.py,
// modeling_granitemoehybrid.py): the tensors of Llama, with scaled embeddings, scores, block outputs and
// logits; experts as wide as a dense block, and a shared expert; no rotation if rope.scaling.finetuned is
// false. In granitehybrid, layers without key/value heads are of Mamba 2.
//
// Let x be the residual, which each block changes by residual_scale f(norm(x)). Then y = x / residual_scale
// changes by f(norm(x)), and norm(x) with epsilon is norm(y) with epsilon / residual_scale^2: the steps of a
// model without this scale compute y.
namespace etna::model {
namespace {

constexpr NumberBounds scales{.min = 1e-6, .max = 1e6};

/// The logits' scale may be absent in hybrids.
void read_scales(MetadataReader& reader, Config& config, std::optional<double> logit_fallback) {
    const double residual = reader.number("residual_scale", scales, 1);
    const double embedding = reader.number("embedding_scale", scales, 1) / residual;
    config.embedding_scale = config.embedding_input_scale = static_cast<float>(embedding);
    config.rms_epsilon = static_cast<float>(config.rms_epsilon / (residual * residual));
    config.attention_scale =
        static_cast<float>(reader.number("attention.scale", scales, config.attention_scale));
    config.logit_scale = static_cast<float>(1 / reader.number("logit_scale", scales, logit_fallback));
}

Result<Config> read_granite_config(const gguf::File& file, std::string_view architecture,
                                   LayerLists lists = LayerLists::alike) {
    MetadataReader reader(file, architecture);
    Config config = read_common(reader, kernels::RotaryPairs::adjacent, lists);
    config.experts = read_optional_experts(reader, config);
    if (config.experts.count > 0 && reader.has("expert_shared_feed_forward_length")) {
        config.experts.shared_feed_forward =
            reader.integer("expert_shared_feed_forward_length", {.min = 1, .max = width_max});
    }
    const bool is_hybrid = lists == LayerLists::with_zeros;
    const Mamba2Config mamba = is_hybrid ? read_mamba2(reader, config) : Mamba2Config();
    const bool rotates = reader.flag("rope.scaling.finetuned", true);
    for (LayerConfig& layer : config.layers) {
        if (auto* const attention = layer.attention()) {
            attention->rotates = rotates;
        } else {
            layer.mixer = mamba;
        }
    }
    read_scales(reader, config, is_hybrid ? std::optional(1.0) : std::nullopt);
    ETNA_CHECK(reader.status());
    return config;
}

Result<Config> read_granite(const gguf::File& file) {
    return read_granite_config(file, "granite");
}

Result<Config> read_granitemoe(const gguf::File& file) {
    return read_granite_config(file, "granitemoe");
}

Result<Config> read_granitehybrid(const gguf::File& file) {
    return read_granite_config(file, "granitehybrid", LayerLists::with_zeros);
}

TensorTable declare_granitehybrid(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    declare_rotary(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        if (config.layers[layer].attention() != nullptr) {
            declare_attention(table, config, layer, {.biases = Biases::any});
        } else {
            declare_mamba2(table, config, layer);
        }
        if (config.has_experts(layer)) {
            declare_experts(table, config, layer);
        } else {
            declare_feed_forward(table, config, layer);
        }
    }
    return table;
}

} // namespace

const Architecture granite_architecture{.name = "granite",
                                        .read_config = read_granite,
                                        .declare = declare_llama,
                                        .assemble = assemble_decoder,
                                        .models = "Granite 3",
                                        .peer = "2.8e-06 (4 files)",
                                        .definition = "modeling_granite.py",
                                        .checks = "scaled embeddings, scores, blocks and logits"};
const Architecture granitemoe_architecture{.name = "granitemoe",
                                           .read_config = read_granitemoe,
                                           .declare = declare_llama,
                                           .assemble = assemble_decoder,
                                           .models = "Granite 3 with experts",
                                           .peer = "3.8e-06 (4 files)",
                                           .definition = "modeling_granitemoeshared.py",
                                           .checks = "the scales of granite, a shared expert"};
const Architecture granitehybrid_architecture{
    .name = "granitehybrid",
    .read_config = read_granitehybrid,
    .declare = declare_granitehybrid,
    .assemble = assemble_decoder,
    .models = "Granite 4, also with Mamba 2",
    .peer = "2.9e-06 (2 files)",
    .definition = "modeling_granitemoehybrid.py",
    .checks = "the scales of granite, a shared expert, no rotation, Mamba 2 in F32 and Q8_0"};

} // namespace etna::model
