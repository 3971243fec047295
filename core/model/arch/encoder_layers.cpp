#include "core/model/arch/encoder_layers.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace etna::model {
namespace {

constexpr uint32_t token_types_max = 256;

/// The weight and bias of a layer norm.
void declare_norm(TensorTable& table, std::string_view name, std::string_view device_name, uint32_t width) {
    for (const char* part : {"weight", "bias"}) {
        table.renamed_vector(fmt::format("{}.{}", name, part), fmt::format("{}.{}", device_name, part),
                             width);
    }
}

void declare_feed_forward_matrices(TensorTable& table, const Config& config, uint32_t layer,
                                   const EncoderTensors& tensors) {
    const uint32_t inner = config.layers[layer].feed_forward;
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    if (tensors.has_gate) {
        table.projections(tensors.gate_and_up, name("ffn_up.weight"),
                          {{name("ffn_gate.weight"), inner}, {name("ffn_up.weight"), inner}}, config.width);
    } else {
        table.matrix(name("ffn_up.weight"), inner, config.width);
    }
    table.matrix(name("ffn_down.weight"), config.width, inner);
    if (tensors.has_biases && !tensors.has_gate)
        table.vector(name("ffn_up.bias"), inner);
    if (tensors.has_output_biases)
        table.vector(name("ffn_down.bias"), config.width);
}

} // namespace

Config read_post_norm_encoder(MetadataReader& reader, kernels::RotaryPairs pairs) {
    Config config = read_common(reader, pairs, LayerLists::alike, NormKind::layer);
    refuse_experts(reader);
    config.is_encoder = true;
    config.has_post_norms = true;
    config.token_types =
        static_cast<uint32_t>(reader.file().unsigned_integer("tokenizer.ggml.token_type_count").value_or(0));
    if (config.token_types > token_types_max) {
        reader.fail_at(ErrorKind::corrupt, "tokenizer.ggml.token_type_count",
                       fmt::format("above {}", token_types_max));
    }
    return config;
}

void declare_encoder_matrices(TensorTable& table, const Config& config, uint32_t layer,
                              const EncoderTensors& tensors) {
    const AttentionConfig& shape = *config.layers[layer].attention();
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    const std::vector<std::pair<const char*, uint32_t>> projections{
        {"attn_q", shape.q_width()}, {"attn_k", shape.kv_width()}, {"attn_v", shape.kv_width()}};
    std::vector<TensorPart> parts;
    for (const auto& [part, rows] : projections) {
        parts.push_back({name(fmt::format("{}.weight", part)), rows});
        if (tensors.has_biases)
            table.vector(name(fmt::format("{}.bias", part)), rows);
    }
    table.projections(tensors.projections, name("attn_qkv.weight"), std::move(parts), config.width);
    table.matrix(name("attn_output.weight"), config.width, shape.q_width());
    if (tensors.has_output_biases)
        table.vector(name("attn_output.bias"), config.width);
    declare_feed_forward_matrices(table, config, layer, tensors);
}

void declare_post_norm_encoder(TensorTable& table, const Config& config, const EncoderTensors& tensors) {
    table.matrix("token_embd.weight", config.vocabulary, config.width);
    if (config.token_types > 0)
        table.vectors("token_types.weight", config.token_types, config.width);
    if (config.positions > 0)
        table.vectors("position_embd.weight", config.positions, config.width);
    declare_norm(table, "token_embd_norm", "blk.0.attn_norm", config.width);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_encoder_matrices(table, config, layer, tensors);
        declare_norm(table, tensor_name(layer, "attn_output_norm"), tensor_name(layer, "ffn_norm"),
                     config.width);
        declare_norm(table, tensor_name(layer, "layer_output_norm"),
                     layer + 1 < config.layer_count() ? tensor_name(layer + 1, "attn_norm") : "output_norm",
                     config.width);
    }
}

} // namespace etna::model
