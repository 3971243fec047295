#include "core/model/arch/decoder.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/blocks/latent_attention.hpp"

#include <fmt/format.h>

// DeepSeek-V2 and -V3 and the models of their kind: Kimi K2, GLM-4.7-Flash (arXiv 2405.04434, 2412.19437;
// transformers, modeling_deepseek_v2.py and modeling_deepseek_v3.py): latent attention, leading dense layers,
// groups of experts chosen by a softmax or by biased sigmoids, and shared experts.
namespace etna::model {
namespace {

/// Older files hold the projections of keys and values in one tensor, which cannot be absorbed.
Status require_absorbed(const gguf::File& file) {
    const std::string name = tensor_name(0, "attn_kv_b.weight");
    if (file.find_tensor(name) == nullptr || file.find_tensor(tensor_name(0, "attn_k_b.weight")) != nullptr)
        return {};
    return Error{
        .kind = ErrorKind::unsupported,
        .message = fmt::format("{}: keys and values in one projection (tensor {}) are not supported",
                               file.name(), name),
        .hint = "convert the model again with a current tool, or fetch a newer conversion: its layers have "
                "attn_k_b and attn_v_b"};
}

ExpertConfig read_deepseek_experts(MetadataReader& reader, const Config& config) {
    constexpr std::string_view gating_key = "expert_gating_func";
    constexpr uint32_t softmax = 1;
    constexpr uint32_t sigmoid = 2;
    ExpertConfig experts = read_experts(reader, config);
    experts.dense_layers =
        reader.integer("leading_dense_block_count", {.min = 0, .max = config.layer_count()}, 0);
    const std::string bias = tensor_name(experts.dense_layers, "exp_probs_b.bias");
    experts.selection_bias = reader.file().find_tensor(bias) != nullptr;
    const uint32_t gating =
        reader.integer(gating_key, {.min = 0, .max = width_max}, experts.selection_bias ? sigmoid : softmax);
    if (gating != softmax && gating != sigmoid)
        reader.fail(ErrorKind::unsupported, gating_key, "must be softmax (1) or sigmoid (2)");
    if (gating == softmax && experts.selection_bias)
        reader.fail(ErrorKind::unsupported, gating_key, "a selection bias needs sigmoid (2)");
    experts.scores =
        gating == sigmoid ? kernels::RoutingRule::Scores::sigmoid : kernels::RoutingRule::Scores::softmax;
    experts.normalised = reader.flag("expert_weights_norm", false);
    read_expert_groups(reader, experts);
    read_shared_count(reader, experts);
    return experts;
}

Result<Config> read_deepseek2(const gguf::File& file) {
    ETNA_CHECK(require_absorbed(file));
    MetadataReader reader(file, "deepseek2");
    Config config = read_latent_common(reader, kernels::RotaryPairs::adjacent);
    if (reader.number("attention.temperature_scale", {.min = 0, .max = 100, .lower = LowerBound::inclusive},
                      0) > 0) {
        reader.fail(ErrorKind::unsupported, "attention.temperature_scale",
                    "queries scaled by position are not supported with latent attention");
    }
    config.experts = read_deepseek_experts(reader, config);
    read_further_layers(reader, config);
    read_draft_head(reader, config);
    ETNA_CHECK(reader.status());
    return config;
}

TensorTable declare_deepseek2(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        declare_latent_attention(table, config, layer);
        if (config.has_experts(layer)) {
            declare_experts(table, config, layer);
        } else {
            declare_feed_forward(table, config, layer);
        }
    }
    declare_draft_head(table, config);
    ignore_further_layers(table, config);
    return table;
}

} // namespace

const Architecture deepseek2_architecture{.name = "deepseek2",
                                          .read_config = read_deepseek2,
                                          .declare = declare_deepseek2,
                                          .assemble = assemble_decoder,
                                          .models = "DeepSeek-V2, V3, V3.1 and R1, Kimi K2, GLM-4.7-Flash",
                                          .peer = "5.4e-05 (3 files)",
                                          .definition = "modeling_deepseek_v2.py, modeling_deepseek_v3.py",
                                          .checks =
                                              "latent attention with and without a latent of queries, YaRN, "
                                              "groups of experts, in F32, F16, BF16, Q8_0, Q4_K and Q6_K"};

} // namespace etna::model
