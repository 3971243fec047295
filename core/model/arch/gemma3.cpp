#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

// Gemma 3, text model (arXiv 2503.19786): sliding-window layers with their own RoPE parameters, full
// attention in every sixth layer; pre- and post-norms, QK-norm, GELU-gated MLP, scaled embedding.
namespace etna::model {
namespace {

/// Cache groups of full-attention and of sliding-window layers.
constexpr uint32_t full_group = 0;
constexpr uint32_t window_group = 1;

/// The largest model scales scores by its width per head, which differs from its head size. Files have no key
/// for this: the layer count identifies that model.
constexpr uint32_t layers_of_27b = 62;

/// By layer, whether it has a window: all but every sixth, or another period, or as the file lists them.
std::vector<bool> read_pattern(MetadataReader& reader, const Config& config) {
    constexpr std::string_view key = "attention.sliding_window_pattern";
    const gguf::Value* value = reader.file().find("gemma3." + std::string(key));
    if (const auto* list = value == nullptr ? nullptr : std::get_if<gguf::Array>(value)) {
        const auto* windowed = std::get_if<std::vector<bool>>(&list->items);
        if (windowed != nullptr && windowed->size() == config.layers)
            return *windowed;
        reader.fail(ErrorKind::corrupt, key, fmt::format("must hold {} truth values", config.layers));
        return std::vector<bool>(config.layers);
    }
    const uint32_t period = reader.integer(key, {.min = 1, .max = layers_max}, 6);
    std::vector<bool> windowed(config.layers);
    for (uint32_t layer = 0; layer < config.layers; ++layer)
        windowed[layer] = (layer + 1) % period != 0;
    return windowed;
}

/// Files without a window, or with one of 0, have only full-attention layers with one RoPE configuration.
void read_groups(MetadataReader& reader, Config& config) {
    const uint32_t window = read_window(reader, 0);
    if (window == 0)
        return;
    const std::vector<bool> windowed = read_pattern(reader, config);
    CacheGroup local{.window_tokens = window, .layers = 0, .rotary = {}};
    local.rotary.dims = config.cache_groups[full_group].rotary.dims;
    local.rotary.pairs = config.cache_groups[full_group].rotary.pairs;
    local.rotary.base = reader.number("rope.freq_base_swa", {.min = 1, .max = 1e12}, 10000);
    for (uint32_t layer = 0; layer < config.layers; ++layer) {
        if (!windowed[layer])
            continue;
        config.layer_groups[layer] = window_group;
        ++local.layers;
    }
    config.cache_groups[full_group].layers -= local.layers;
    config.cache_groups.push_back(local);
}

Result<Config> read_gemma3(const gguf::File& file) {
    MetadataReader reader(file, "gemma3");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    refuse_experts(reader);
    read_groups(reader, config);
    config.embedding_scale = std::sqrt(static_cast<float>(config.width));
    if (config.layers == layers_of_27b) {
        config.attention_scale =
            std::sqrt(static_cast<float>(config.q_heads) / static_cast<float>(config.width));
    }
    config.attention_softcap = read_softcap(reader, "attn_logit_softcapping");
    config.logit_softcap = read_softcap(reader, "final_logit_softcapping");
    config.gate = kernels::Gate::gelu;
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_gemma3(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layers; ++layer) {
        declare_attention(table, config, layer, {.head_norms = true, .post_norm = true});
        declare_feed_forward(table, config, layer, {.post_norm = true});
    }
    return table;
}

} // namespace

const Architecture gemma3_architecture{
    .name = "gemma3", .read_config = read_gemma3, .declare = declare_gemma3, .assemble = assemble_decoder};

} // namespace etna::model
