#include "tests/support/random_model.hpp"

#include "tests/support/random_rope.hpp"
#include "tests/support/random_tokenizer.hpp"
#include "tests/support/random_traits.hpp"
#include "tests/support/tensor_maker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace etna::test {

const std::string_view chatml_template =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>' + "
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

namespace {

void check(const RandomModelOptions& options) {
    const auto require = [](bool holds, std::string_view rule) {
        if (!holds)
            throw std::invalid_argument(fmt::format("random model: {}", rule));
    };
    require(options.head_dim % 2 == 0, "head_dim must be even");
    require(options.architecture == RandomArchitecture::deepseek2 ||
                (options.kv_heads != 0 && options.heads % options.kv_heads == 0),
            "heads must be a multiple of kv_heads");
    require(options.tokenizer == RandomTokenizer::none ||
                options.vocabulary >= minimum_vocabulary(options.architecture),
            "the vocabulary is too small for the tokenizer");
}

using enum RandomArchitecture;

void add_gemma3n_keys(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    writer.add(prefix + "altup.num_inputs", options.streams);
    writer.add(prefix + "altup.active_idx", 0U);
    std::vector<float> scales(options.layers, -std::numeric_limits<float>::infinity());
    std::fill_n(scales.begin(), std::min(options.sparse_layers, options.layers),
                1.6448533F); // 95 % are zeros
    writer.add_array(prefix + "activation_sparsity_scale", scales);
}

uint32_t latent_rotated(const RandomModelOptions& options) {
    return options.rotated == 0 ? 32 : options.rotated;
}

void add_layer_input_keys(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    std::vector<bool> windows;
    for (uint32_t layer = 0; layer < options.layers; ++layer)
        windows.push_back(has_window(options, layer));
    writer.add_array(prefix + "attention.sliding_window_pattern", windows);
    writer.add(prefix + "attention.sliding_window", options.window);
    writer.add(prefix + "attention.shared_kv_layers", options.shared_kv_layers);
    writer.add(prefix + "embedding_length_per_layer_input", options.per_layer_width);
    if (options.logit_softcap != 0)
        writer.add(prefix + "final_logit_softcapping", options.logit_softcap);
    if (options.architecture == gemma3n) {
        add_gemma3n_keys(writer, options, prefix);
        return;
    }
    const uint32_t window_head_dim =
        options.window_head_dim == 0 ? options.head_dim : options.window_head_dim;
    writer.add(prefix + "attention.key_length_swa", window_head_dim);
    writer.add(prefix + "attention.value_length_swa", window_head_dim);
    writer.add(prefix + "rope.dimension_count_swa", window_head_dim);
    writer.add(prefix + "rope.freq_base_swa", 5000.0F);
}

/// One number, or a list of layers that differ.
void add_layer_sizes(GgufWriter& writer, const RandomModelOptions& options, const std::string& key,
                     uint32_t (*size_of)(const RandomModelOptions& options, uint32_t layer), uint32_t size) {
    std::vector<int32_t> sizes;
    for (uint32_t layer = 0; layer < options.layers + options.predicting_layers; ++layer)
        sizes.push_back(static_cast<int32_t>(size_of(options, layer)));
    const auto is_common = [&](int32_t one) { return one == static_cast<int32_t>(size); };
    if (std::all_of(sizes.begin(), sizes.end(), is_common)) {
        writer.add(key, size);
    } else {
        writer.add_array(key, sizes);
    }
}

/// Coordinates of an image, by which the parts of a head rotate.
bool has_sections(const RandomModelOptions& options) {
    return (options.coordinates && is_one_of(options.architecture, {glm4, glm4moe})) ||
           is_one_of(options.architecture, {qwen2vl, qwen3vl, qwen3vlmoe, qwen35, qwen35moe});
}

void add_granite_keys(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    writer.add(prefix + "logit_scale", options.logit_scale);
    if (options.residual_scale != 0)
        writer.add(prefix + "residual_scale", options.residual_scale);
    if (options.embedding_scale != 0)
        writer.add(prefix + "embedding_scale", options.embedding_scale);
    if (options.attention_scale != 0)
        writer.add(prefix + "attention.scale", options.attention_scale);
    if (!options.rotates)
        writer.add(prefix + "rope.scaling.finetuned", false);
}

/// Pairs turn by time, height and width in turn; none is left for the fourth coordinate.
void add_sections(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    const auto pairs = static_cast<int32_t>((options.rotated == 0 ? options.head_dim : options.rotated) / 2);
    writer.add_array(prefix + "rope.dimension_sections",
                     std::vector<int32_t>{(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3, 0});
}

void add_rope_keys(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    const uint32_t head_dim = options.architecture == deepseek2 ? latent_rotated(options) : options.head_dim;
    writer.add(prefix + "rope.dimension_count", options.rotated == 0 ? head_dim : options.rotated);
    writer.add(prefix + "rope.freq_base", options.rope_base);
    if (options.rope_scaling == RopeScaling::longrope) {
        // Phi 3's files are recognised by their tensors alone.
        if (options.architecture != RandomArchitecture::phi3)
            writer.add(prefix + "rope.scaling.type", "longrope");
        writer.add(prefix + "rope.scaling.original_context_length", options.original_context);
        writer.add(prefix + "rope.scaling.attn_factor", 1.19F);
    }
    if (options.rope_scaling != RopeScaling::linear && options.rope_scaling != RopeScaling::yarn)
        return;
    const bool yarn = options.rope_scaling == RopeScaling::yarn;
    writer.add(prefix + "rope.scaling.type", yarn ? "yarn" : "linear");
    writer.add(prefix + "rope.scaling.factor", options.rope_factor);
    if (yarn)
        writer.add(prefix + "rope.scaling.original_context_length", options.original_context);
    if (yarn && options.yarn_log_multiplier != 0)
        writer.add(prefix + "rope.scaling.yarn_log_multiplier", options.yarn_log_multiplier);
}

void add_mamba_keys(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    writer.add(prefix + "ssm.conv_kernel", options.convolution_width);
    writer.add(prefix + "ssm.state_size", options.mamba_state_dim);
    writer.add(prefix + "ssm.group_count", options.mamba_groups);
    writer.add(prefix + "ssm.time_step_rank", options.mamba_heads);
    writer.add(prefix + "ssm.inner_size", options.mamba_heads * options.mamba_head_dim);
}

void add_delta_keys(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    writer.add(prefix + "ssm.conv_kernel", options.convolution_width);
    writer.add(prefix + "ssm.state_size", options.delta_key_dim);
    writer.add(prefix + "ssm.group_count", options.delta_key_heads);
    writer.add(prefix + "ssm.time_step_rank", options.delta_value_heads);
    writer.add(prefix + "ssm.inner_size", options.delta_value_heads * options.delta_value_dim);
    if (options.attention_interval != 0)
        writer.add(prefix + "full_attention_interval", options.attention_interval);
}

void add_latent_keys(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    writer.add(prefix + "attention.kv_lora_rank", options.latent_rank);
    if (options.query_rank != 0)
        writer.add(prefix + "attention.q_lora_rank", options.query_rank);
    writer.add(prefix + "attention.key_length_mla", options.unrotated + latent_rotated(options));
    writer.add(prefix + "attention.value_length_mla", options.latent_value_dim);
}

/// Keys that one architecture alone has.
void add_own_keys(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    if (options.predicting_layers != 0)
        writer.add(prefix + "nextn_predict_layers", options.predicting_layers);
    if (has_experts(options)) {
        writer.add(prefix + "expert_count", options.experts);
        writer.add(prefix + "expert_used_count", options.experts_used);
        if (!has_wide_experts(options.architecture))
            writer.add(prefix + "expert_feed_forward_length", options.expert_feed_forward);
    }
    if (options.expert_scale != 0)
        writer.add(prefix + "expert_weights_scale", options.expert_scale);
    if (has_biased_experts(options.architecture)) {
        if (!is_nemotron(options.architecture)) {
            writer.add(prefix + "leading_dense_block_count", options.dense_layers);
            writer.add(prefix + "expert_gating_func", options.softmax_experts ? 1U : 2U);
        }
        writer.add(prefix + "expert_weights_norm", options.experts_normalised);
    }
    if (counts_shared_experts(options.architecture))
        writer.add(prefix + "expert_shared_count", options.shared_experts);
    if (counts_shared_experts(options.architecture) && options.expert_groups > 1) {
        writer.add(prefix + "expert_group_count", options.expert_groups);
        writer.add(prefix + "expert_group_used_count", options.expert_groups_used);
    }
    if (options.architecture == deepseek2)
        add_latent_keys(writer, options, prefix);
    if (is_granite(options.architecture))
        add_granite_keys(writer, options, prefix);
    if (has_sections(options))
        add_sections(writer, options, prefix);
    if (is_one_of(options.architecture, {qwen3vl, qwen3vlmoe}))
        writer.add(prefix + "n_deepstack_layers", 3U);
    if (options.architecture == mistral3 && options.temperature_scale != 0)
        writer.add(prefix + "attention.temperature_scale", options.temperature_scale);
    if (has_shared_expert(options) && !counts_shared_experts(options.architecture))
        writer.add(prefix + "expert_shared_feed_forward_length", options.shared_feed_forward);
    if (has_delta_nets(options.architecture))
        add_delta_keys(writer, options, prefix);
    if (is_nemotron(options.architecture))
        writer.add(prefix + "attention.layer_norm_epsilon", options.norm_epsilon);
    if (has_mamba(options.architecture))
        add_mamba_keys(writer, options, prefix);
    if (is_lfm2(options.architecture))
        writer.add(prefix + "shortconv.l_cache", options.convolution_width);
    if (options.architecture == RandomArchitecture::gpt_oss)
        writer.add(prefix + "attention.sliding_window", options.window);
    if (options.architecture == RandomArchitecture::phi3 && options.window != 0)
        writer.add(prefix + "attention.sliding_window", options.window);
    if (has_layer_inputs(options.architecture))
        add_layer_input_keys(writer, options, prefix);
    if (!is_gemma(options.architecture))
        return;
    writer.add(prefix + "attention.sliding_window", options.window);
    if (options.window_pattern != 0)
        writer.add(prefix + "attention.sliding_window_pattern", options.window_pattern);
    if (options.attention_softcap != 0)
        writer.add(prefix + "attn_logit_softcapping", options.attention_softcap);
    if (options.logit_softcap != 0)
        writer.add(prefix + "final_logit_softcapping", options.logit_softcap);
}

/// Sizes of attention and of feed-forward blocks.
void add_block_keys(GgufWriter& writer, const RandomModelOptions& options, const std::string& prefix) {
    if (options.architecture == mamba2) { // has neither
        writer.add(prefix + "feed_forward_length", 0U);
        writer.add(prefix + "attention.head_count", 0U);
        return;
    }
    add_layer_sizes(writer, options, prefix + "feed_forward_length", feed_forward_of, options.feed_forward);
    writer.add(prefix + "attention.head_count", options.heads);
    add_layer_sizes(writer, options, prefix + "attention.head_count_kv", kv_heads_of,
                    options.architecture == deepseek2 ? 1 : options.kv_heads);
    const bool is_latent = options.architecture == deepseek2;
    const uint32_t value_dim = is_latent ? options.latent_rank : options.head_dim;
    writer.add(prefix + "attention.key_length", is_latent ? value_dim + latent_rotated(options) : value_dim);
    writer.add(prefix + "attention.value_length", value_dim);
    add_rope_keys(writer, options, prefix);
}

void add_keys(GgufWriter& writer, const RandomModelOptions& options) {
    const auto architecture = std::string(to_string(options.architecture));
    const std::string prefix = architecture + ".";
    writer.add("general.architecture", architecture);
    writer.add("general.name", options.name.empty() ? fmt::format("random {} {}", architecture, options.seed)
                                                    : std::string(options.name));
    writer.add(prefix + "block_count", options.layers + options.predicting_layers);
    writer.add(prefix + "context_length", options.context);
    writer.add(prefix + "embedding_length", options.embedding);
    add_block_keys(writer, options, prefix);
    writer.add(prefix + "attention.layer_norm_rms_epsilon", options.norm_epsilon);
    writer.add(prefix + "vocab_size", options.vocabulary);
    add_own_keys(writer, options, prefix);
}

void add_tokenizer(GgufWriter& writer, const RandomModelOptions& options) {
    if (options.tokenizer == RandomTokenizer::by_architecture) {
        if (has_bpe(options.architecture)) {
            add_bpe_tokenizer(writer, options.vocabulary);
        } else {
            add_sentencepiece_tokenizer(writer, options.vocabulary);
        }
    }
    if (!options.chat_template.empty())
        writer.add("tokenizer.chat_template", std::string(options.chat_template));
}

/// The tensors of one layer, under the names that the architecture gives them.
class LayerMaker {
public:
    LayerMaker(TensorMaker& tensors, const RandomModelOptions& options, uint32_t layer)
        : tensors_(tensors), options_(options), layer_(layer), prefix_(fmt::format("blk.{}.", layer)) {}

    void add_attention() {
        const uint32_t head_dim = head_dim_of(options_, layer_);
        const uint32_t query = options_.heads * head_dim;
        const uint32_t key_value = kv_heads_of(options_, layer_) * head_dim;
        norm("attn_norm", options_.embedding);
        if (options_.architecture == RandomArchitecture::phi3) {
            matrix("attn_qkv", query + 2 * key_value, options_.embedding);
        } else {
            const bool has_gate = has_delta_nets(options_.architecture);
            matrix("attn_q", has_gate ? 2 * query : query, options_.embedding);
            const bool is_gemma4 = options_.architecture == gemma4;
            if (!shares_keys(options_, layer_))
                matrix("attn_k", key_value, options_.embedding);
            if (!shares_keys(options_, layer_) &&
                !(is_gemma4 && options_.values_are_keys && !has_window(options_, layer_)))
                matrix("attn_v", key_value, options_.embedding);
        }
        matrix("attn_output", options_.embedding, query);
        const bool is_gpt_oss = options_.architecture == RandomArchitecture::gpt_oss;
        if (has_qkv_biases(options_.architecture)) {
            tensors_.bias(prefix_ + "attn_q.bias", query);
            tensors_.bias(prefix_ + "attn_k.bias", key_value);
            tensors_.bias(prefix_ + "attn_v.bias", key_value);
        }
        if (is_gpt_oss) {
            tensors_.bias(prefix_ + "attn_output.bias", options_.embedding);
            tensors_.bias(prefix_ + "attn_sinks.weight", options_.heads);
        }
        if (has_head_norms(options_)) {
            norm("attn_q_norm", head_dim);
            if (!shares_keys(options_, layer_))
                norm("attn_k_norm", head_dim);
        }
        if (has_post_norms(options_.architecture))
            norm("post_attention_norm", options_.embedding);
    }

    void add_latent_attention() {
        const uint32_t heads = options_.heads;
        const uint32_t rotated = latent_rotated(options_);
        const uint32_t queries = heads * (options_.unrotated + rotated);
        norm("attn_norm", options_.embedding);
        if (options_.query_rank != 0) {
            matrix("attn_q_a", options_.query_rank, options_.embedding);
            norm("attn_q_a_norm", options_.query_rank);
            matrix("attn_q_b", queries, options_.query_rank);
        } else {
            matrix("attn_q", queries, options_.embedding);
        }
        matrix("attn_kv_a_mqa", options_.latent_rank + rotated, options_.embedding);
        norm("attn_kv_a_norm", options_.latent_rank);
        stack("attn_k_b", heads, options_.latent_rank, options_.unrotated);
        stack("attn_v_b", heads, options_.latent_value_dim, options_.latent_rank);
        matrix("attn_output", options_.embedding, heads * options_.latent_value_dim);
    }

    void add_delta_net() {
        const uint32_t values = options_.delta_value_heads * options_.delta_value_dim;
        const uint32_t channels = 2 * options_.delta_key_heads * options_.delta_key_dim + values;
        norm("attn_norm", options_.embedding);
        if (options_.fused_inputs) {
            matrix("ssm_in", channels + values, options_.embedding);
        } else {
            matrix("attn_qkv", channels, options_.embedding);
            matrix("attn_gate", values, options_.embedding);
        }
        if (options_.architecture == qwen3next) {
            matrix("ssm_ba", 2 * options_.delta_value_heads, options_.embedding);
        } else {
            matrix("ssm_alpha", options_.delta_value_heads, options_.embedding);
            matrix("ssm_beta", options_.delta_value_heads, options_.embedding);
        }
        tensors_.biases(prefix_ + "ssm_conv1d.weight", channels, options_.convolution_width);
        tensors_.decays(prefix_ + "ssm_a", options_.delta_value_heads);
        tensors_.bias(prefix_ + "ssm_dt.bias", options_.delta_value_heads);
        norm("ssm_norm", options_.delta_value_dim);
        matrix("ssm_out", options_.embedding, values);
    }

    void add_short_convolution() {
        norm("attn_norm", options_.embedding);
        matrix("shortconv.in_proj", 3 * options_.embedding, options_.embedding);
        tensors_.biases(prefix_ + "shortconv.conv.weight", options_.embedding, options_.convolution_width);
        matrix("shortconv.out_proj", options_.embedding, options_.embedding);
    }

    void add_mamba() {
        const uint32_t inner = options_.mamba_heads * options_.mamba_head_dim;
        const uint32_t channels = inner + 2 * options_.mamba_groups * options_.mamba_state_dim;
        if (options_.architecture != falcon_h1)
            norm("attn_norm", options_.embedding);
        matrix("ssm_in", inner + channels + options_.mamba_heads, options_.embedding);
        tensors_.biases(prefix_ + "ssm_conv1d.weight", channels, options_.convolution_width);
        if (options_.convolution_bias)
            tensors_.bias(prefix_ + "ssm_conv1d.bias", channels);
        tensors_.bias(prefix_ + "ssm_dt.bias", options_.mamba_heads);
        tensors_.decay_rows(prefix_ + "ssm_a", options_.mamba_heads);
        tensors_.biases(prefix_ + "ssm_d", options_.mamba_heads, 1);
        if (options_.mamba_norm)
            tensors_.norms(prefix_ + "ssm_norm.weight", options_.mamba_groups, inner / options_.mamba_groups);
        matrix("ssm_out", options_.embedding, inner);
    }

    void add_mixer() {
        if (is_nemotron(options_.architecture) && has_feed_forward(options_, layer_))
            return; // the layer's only block
        if (options_.architecture == deepseek2) {
            add_latent_attention();
        } else if (has_attention(options_, layer_)) {
            add_attention();
            if (options_.architecture == falcon_h1)
                add_mamba();
        } else if (has_mamba(options_.architecture)) {
            add_mamba();
        } else if (is_lfm2(options_.architecture)) {
            add_short_convolution();
        } else {
            add_delta_net();
        }
    }

    /// The tensors that a multi-token prediction layer has in addition to those of an attention layer.
    void add_prediction() {
        matrix("nextn.eh_proj", options_.embedding, 2 * options_.embedding);
        norm("nextn.enorm", options_.embedding);
        norm("nextn.hnorm", options_.embedding);
        if (!options_.own_draft_ends) {
            norm("nextn.shared_head_norm", options_.embedding);
            return;
        }
        tensors_.matrix(prefix_ + "nextn.embed_tokens.weight", options_.vocabulary, options_.embedding,
                        options_.embedding_format, 1.0);
        tensors_.matrix(prefix_ + "nextn.shared_head_head.weight", options_.vocabulary, options_.embedding,
                        options_.head_format, options_.head_scale / std::sqrt(options_.embedding));
    }

    void add_feed_forward() {
        if (!has_feed_forward(options_, layer_))
            return;
        const bool is_gated = !is_nemotron(options_.architecture);
        const bool is_gpt_oss = options_.architecture == RandomArchitecture::gpt_oss;
        const bool is_after_mixer = is_gpt_oss || options_.architecture == glm4moe ||
                                    has_delta_nets(options_.architecture) ||
                                    (is_nemotron(options_.architecture) && layer_ >= options_.layers);
        if (options_.architecture == falcon_h1)
            tensors_.norm(prefix_ + "ffn_norm", options_.embedding);
        else
            norm(is_after_mixer ? "post_attention_norm" : (is_gated ? "ffn_norm" : "attn_norm"),
                 options_.embedding);
        const bool is_dense = has_biased_experts(options_.architecture) &&
                              !is_nemotron(options_.architecture) && layer_ < options_.dense_layers;
        if (has_experts(options_) && options_.architecture == gemma4)
            add_parallel_experts();
        if (has_experts(options_) && options_.architecture != gemma4 && !is_dense) {
            const uint32_t width = has_wide_experts(options_.architecture) ? options_.feed_forward
                                                                           : options_.expert_feed_forward;
            matrix("ffn_gate_inp", options_.experts, options_.embedding);
            add_gates_and_ups(width, is_gated);
            stack("ffn_down_exps", options_.experts, options_.embedding, width);
            if (is_gpt_oss)
                add_expert_biases();
            if (has_biased_experts(options_.architecture) && has_selection_bias(options_))
                tensors_.bias(prefix_ + "exp_probs_b.bias", options_.experts);
            if (has_shared_expert(options_))
                add_shared_expert();
        } else if (has_fused_gate(options_.architecture)) {
            matrix("ffn_up", 2 * options_.feed_forward, options_.embedding);
            matrix("ffn_down", options_.embedding, options_.feed_forward);
        } else {
            const uint32_t width = feed_forward_of(options_, layer_);
            if (is_gated)
                matrix("ffn_gate", width, options_.embedding);
            matrix("ffn_up", width, options_.embedding);
            matrix("ffn_down", options_.embedding, width);
        }
        if (has_post_norms(options_.architecture))
            norm("post_ffw_norm", options_.embedding);
    }

    void add_altup() {
        const uint32_t streams = options_.streams;
        // Values of a router are divided by the width.
        tensors_.matrix(prefix_ + "altup_router.weight", streams, options_.embedding, WeightFormat::f32,
                        std::sqrt(options_.embedding));
        norm("altup_router_norm", options_.embedding);
        tensors_.matrix(prefix_ + "altup_predict_coef.weight", streams * streams, streams, WeightFormat::f32,
                        0.1);
        tensors_.matrix(prefix_ + "altup_correct_coef.weight", streams, streams, WeightFormat::f32, 0.1);
        norm("altup_correct_scale", options_.embedding);
        matrix("laurel_l", options_.laurel_rank, options_.embedding);
        matrix("laurel_r", options_.embedding, options_.laurel_rank);
        norm("laurel_post_norm", options_.embedding);
    }

    /// After the feed-forward block.
    void add_layer_input() {
        if (options_.per_layer_width != 0) {
            matrix("inp_gate", options_.per_layer_width, options_.embedding);
            matrix("proj", options_.embedding, options_.per_layer_width);
            norm("post_norm", options_.embedding);
        }
        if (options_.output_scales && options_.architecture == gemma4)
            tensors_.vector(prefix_ + "layer_output_scale.weight",
                            {0.6F + 0.1F * static_cast<float>(layer_ % 3)});
    }

private:
    void add_shared_expert() {
        if (has_row_gate(options_.architecture))
            tensors_.bias(prefix_ + "ffn_gate_inp_shexp.weight", options_.embedding);
        const uint32_t width = shared_width(options_);
        if (!is_nemotron(options_.architecture))
            matrix("ffn_gate_shexp", width, options_.embedding);
        matrix("ffn_up_shexp", width, options_.embedding);
        matrix("ffn_down_shexp", options_.embedding, width);
    }

    /// gemma4's, in addition to the dense block.
    void add_gates_and_ups(uint32_t width, bool is_gated) {
        if (is_gated && options_.fused_experts) {
            stack("ffn_gate_up_exps", options_.experts, 2 * width, options_.embedding);
            return;
        }
        if (is_gated)
            stack("ffn_gate_exps", options_.experts, width, options_.embedding);
        stack("ffn_up_exps", options_.experts, width, options_.embedding);
    }

    void add_parallel_experts() {
        const uint32_t width = options_.expert_feed_forward;
        matrix("ffn_gate_inp", options_.experts, options_.embedding);
        tensors_.norm(prefix_ + "ffn_gate_inp.scale", options_.embedding);
        if (options_.expert_scales)
            tensors_.norm(prefix_ + "ffn_down_exps.scale", options_.experts);
        add_gates_and_ups(width, true);
        stack("ffn_down_exps", options_.experts, options_.embedding, width);
        for (const char* role : {"pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"})
            norm(role, options_.embedding);
    }

    void add_expert_biases() {
        const uint32_t experts = options_.experts;
        tensors_.bias(prefix_ + "ffn_gate_inp.bias", experts);
        tensors_.biases(prefix_ + "ffn_gate_exps.bias", experts, options_.expert_feed_forward);
        tensors_.biases(prefix_ + "ffn_up_exps.bias", experts, options_.expert_feed_forward);
        tensors_.biases(prefix_ + "ffn_down_exps.bias", experts, options_.embedding);
    }

    [[nodiscard]] WeightFormat format_of(std::string_view role) const {
        auto own = options_.role_formats.find(fmt::format("{}.{}", layer_, role));
        if (own == options_.role_formats.end())
            own = options_.role_formats.find(role);
        return own == options_.role_formats.end() ? options_.matrices : own->second;
    }

    void norm(std::string_view role, uint32_t size) {
        tensors_.norm(fmt::format("{}{}.weight", prefix_, role), size);
    }

    void matrix(std::string_view role, uint32_t rows, uint32_t columns) {
        tensors_.matrix(fmt::format("{}{}.weight", prefix_, role), rows, columns, format_of(role),
                        options_.scale / std::sqrt(columns));
    }

    void stack(std::string_view role, uint32_t count, uint32_t rows, uint32_t columns) {
        tensors_.stack(fmt::format("{}{}.weight", prefix_, role), count, rows, columns, format_of(role),
                       options_.scale / std::sqrt(columns));
    }

    TensorMaker& tensors_;
    const RandomModelOptions& options_;
    uint32_t layer_;
    std::string prefix_;
};

} // namespace

bool is_recurrent(RandomArchitecture architecture) {
    return has_delta_nets(architecture) || has_mamba(architecture) || is_lfm2(architecture);
}

uint32_t minimum_vocabulary(RandomArchitecture architecture) {
    return has_bpe(architecture) ? minimum_bpe_vocabulary : minimum_sentencepiece_vocabulary;
}

GgufWriter random_model_keys(const RandomModelOptions& options) {
    check(options);
    GgufWriter writer;
    add_keys(writer, options);
    add_tokenizer(writer, options);
    return writer;
}

GgufWriter random_model_writer(const RandomModelOptions& options) {
    GgufWriter writer = random_model_keys(options);
    TensorMaker tensors(writer, options.seed);
    const double head_deviation = options.head_scale / std::sqrt(options.embedding);
    // A separate embedding has rows of unit size, as if it had just been normalised.
    tensors.matrix("token_embd.weight", options.vocabulary, options.embedding, options.embedding_format,
                   options.head == HeadKind::tied ? head_deviation : 1.0);
    add_rope_tensors(tensors, options);
    if (has_layer_inputs(options.architecture) && options.per_layer_width != 0) {
        const uint32_t width = options.layers * options.per_layer_width;
        tensors.matrix("per_layer_token_embd.weight", options.vocabulary, width, options.embedding_format,
                       1 / std::sqrt(options.per_layer_width));
        tensors.matrix("per_layer_model_proj.weight", width, options.embedding, options.matrices,
                       options.scale / std::sqrt(options.embedding));
        tensors.norm("per_layer_proj_norm.weight", options.per_layer_width);
    }
    for (const char* name : {"altup_proj.weight", "altup_unembd_proj.weight"}) {
        if (options.architecture == gemma3n) {
            tensors.stack(name, options.streams - 1, options.embedding, options.embedding, options.matrices,
                          options.scale / std::sqrt(options.embedding));
        }
    }
    for (uint32_t layer = 0; layer < options.layers; ++layer) {
        LayerMaker maker(tensors, options, layer);
        maker.add_mixer();
        maker.add_feed_forward();
        if (has_layer_inputs(options.architecture))
            maker.add_layer_input();
        if (options.architecture == gemma3n)
            maker.add_altup();
    }
    for (uint32_t i = 0; i < options.predicting_layers; ++i) {
        LayerMaker maker(tensors, options, options.layers + i);
        if (options.architecture == deepseek2) {
            maker.add_latent_attention();
        } else {
            maker.add_attention();
        }
        maker.add_feed_forward();
        maker.add_prediction();
    }
    tensors.norm(is_lfm2(options.architecture) ? "token_embd_norm.weight" : "output_norm.weight",
                 options.embedding);
    if (options.head == HeadKind::separate) {
        tensors.matrix("output.weight", options.vocabulary, options.embedding, options.head_format,
                       head_deviation);
    }
    return writer;
}

Bytes random_model(const RandomModelOptions& options) {
    return random_model_writer(options).bytes();
}

} // namespace etna::test
