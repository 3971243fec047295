#include "core/kernels/operations/altup.hpp"
#include "core/model/arch/decoder.hpp"
#include "core/model/arch/gemma_layers.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

// Gemma 3n, text model: four streams with alternating updates (AltUp), of which one passes through each
// layer; a low-rank branch in parallel with attention (Laurel), an input of each layer, sparse gates in the
// first layers, sliding windows, and last layers that read an earlier layer's keys and values (transformers,
// modeling_gemma3n.py).
namespace etna::model {
namespace {

/// Layers with a window rotate with this base; files have no key for it.
constexpr double window_rope_base = 10000;
constexpr std::string_view left_name = "laurel_l.weight";

void read_streams(MetadataReader& reader, Config& config) {
    config.streams = reader.integer("altup.num_inputs", {.min = 2, .max = kernels::altup_streams_max});
    if (reader.integer("altup.active_idx", {.min = 0, .max = kernels::altup_streams_max}, 0) != 0)
        reader.fail(ErrorKind::unsupported, "altup.active_idx", "only stream 0 may pass through the layers");
    const gguf::Tensor* left = reader.file().find_tensor(tensor_name(0, left_name));
    config.laurel_rank = left != nullptr && left->shape[1] <= width_max
                             ? static_cast<uint32_t>(left->shape[1])
                             : 1; // the tensors are checked later
}

/// A scale that is not finite: the layer's gates are not sparse.
void read_sparsity(MetadataReader& reader, Config& config) {
    const std::vector<double> scales = reader.numbers("activation_sparsity_scale", config.layer_count());
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        if (std::isfinite(scales[layer]))
            config.layers[layer].gate_deviations = static_cast<float>(scales[layer]);
    }
}

Result<Config> read_gemma3n(const gguf::File& file) {
    MetadataReader reader(file, "gemma3n");
    Config config = read_common(reader, kernels::RotaryPairs::halves, LayerLists::differing);
    refuse_experts(reader);
    const RotaryConfig& full = config.cache_groups[0].rotary;
    add_windowed_layers(reader, config,
                        {.window_tokens = read_window(reader),
                         .period = 5,
                         .rotary = {.dims = full.dims, .base = window_rope_base, .pairs = full.pairs}});
    for (LayerConfig& layer : config.layers)
        layer.attention()->norms_values = true;
    if (!reader.has("attention.shared_kv_layers")) // the file has tensors of the layers that share, too
        reader.fail(ErrorKind::corrupt, "attention.shared_kv_layers", "the key is missing");
    share_keys(reader, config);
    check_layer_widths(reader, config);
    read_streams(reader, config);
    read_sparsity(reader, config);
    config.per_layer_width = reader.integer("embedding_length_per_layer_input", {.min = 4, .max = width_max});
    if (config.per_layer_width % 4 != 0)
        reader.fail(ErrorKind::unsupported, "embedding_length_per_layer_input", "must be a multiple of 4");
    config.embedding_scale = std::sqrt(static_cast<float>(config.width));
    config.attention_scale = 1;
    config.logit_softcap = read_softcap(reader, "final_logit_softcapping", 30);
    config.gate = kernels::Gate::gelu;
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_gemma3n(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    declare_stream_ends(table, config);
    declare_per_layer_inputs(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_attention(table, config, layer, {.head_norms = true, .post_norm = true});
        declare_feed_forward(table, config, layer, {.post_norm = true});
        declare_altup(table, config, layer);
        declare_per_layer(table, config, layer);
    }
    return table;
}

} // namespace

const Architecture gemma3n_architecture{
    .name = "gemma3n",
    .read_config = read_gemma3n,
    .declare = declare_gemma3n,
    .assemble = assemble_decoder,
    .models = "Gemma 3n (text)",
    .peer = "3.1e-02 with the same divisor of deviations (7.7e-02 without)",
    .definition = "modeling_gemma3n.py",
    .checks = "two to four streams, shared keys and values, inputs of layers, sparse gates, in F32 and Q8_0"};

} // namespace etna::model
