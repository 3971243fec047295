#include "core/model/arch/decoder.hpp"
#include "core/model/arch/delta_layers.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/attention.hpp"
#include "core/model/blocks/delta_net.hpp"

#include <algorithm>

// Qwen3-Next (transformers, modeling_qwen3_next.py): the layers of Qwen3.5 with experts, but the value heads
// of a gated delta net follow their key heads, and the projections of its gates are one tensor. Older files
// also store the projections of q, k, v and the output gate as one.
namespace etna::model {
namespace {

bool has_fused_inputs(const gguf::File& file) {
    return std::any_of(file.tensors().begin(), file.tensors().end(),
                       [](const gguf::Tensor& tensor) { return tensor.name.ends_with(delta_inputs_name); });
}

Result<Config> read_qwen3next(const gguf::File& file) {
    MetadataReader reader(file, "qwen3next");
    Config config = read_common(reader, kernels::RotaryPairs::halves);
    config.experts = read_experts_and_shared(reader, config);
    config.feed_forward_norm = post_attention_norm;
    DeltaNetConfig net = read_delta_net(reader);
    net.shape.order = kernels::KeyHeadOrder::grouped;
    net.fused_gates = true;
    net.fused_inputs = has_fused_inputs(file);
    read_delta_layers(reader, config, net);
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_qwen3next(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_delta_layer(table, config, layer);
        declare_experts(table, config, layer);
    }
    declare_draft_head(table, config);
    ignore_further_layers(table, config);
    return table;
}

} // namespace

const Architecture qwen3next_architecture{.name = "qwen3next",
                                          .read_config = read_qwen3next,
                                          .declare = declare_qwen3next,
                                          .assemble = assemble_decoder,
                                          .models = "Qwen3-Next, Qwen3-Coder-Next",
                                          .peer = "4.3e-05 (5 files)",
                                          .definition = "modeling_qwen3_next.py",
                                          .checks = "gated delta nets, with fused projections of older files "
                                                    "too, experts with a shared one, in F32, F16 and Q8_0"};

} // namespace etna::model
