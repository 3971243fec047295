#include "tests/support/random_traits.hpp"

#include <algorithm>

namespace etna::test {

using enum RandomArchitecture;

bool is_one_of(RandomArchitecture architecture, std::initializer_list<RandomArchitecture> several) {
    return std::find(several.begin(), several.end(), architecture) != several.end();
}

bool is_gemma(RandomArchitecture architecture) {
    return is_one_of(architecture, {gemma2, gemma3});
}

bool has_bpe(RandomArchitecture architecture) {
    return !is_one_of(architecture, {llama, phi3, gemma2, gemma3, gemma3n, gemma4});
}

bool has_delta_nets(RandomArchitecture architecture) {
    return is_one_of(architecture, {qwen3next, qwen35, qwen35moe});
}

bool is_lfm2(RandomArchitecture architecture) {
    return is_one_of(architecture, {lfm2, lfm2moe});
}

bool is_nemotron(RandomArchitecture architecture) {
    return is_one_of(architecture, {nemotron_h, nemotron_h_moe});
}

bool has_mamba(RandomArchitecture architecture) {
    return is_one_of(architecture, {falcon_h1, granitehybrid, mamba2}) || is_nemotron(architecture);
}

bool has_biased_experts(RandomArchitecture architecture) {
    return is_one_of(architecture, {deepseek2, lfm2moe, glm4moe, nemotron_h_moe});
}

bool has_selection_bias(const RandomModelOptions& options) {
    return options.architecture != deepseek2 || (options.selection_bias && !options.softmax_experts);
}

bool has_attention(const RandomModelOptions& options, uint32_t layer) {
    if (layer >= options.layers) // of those that predict further tokens
        return true;
    if (is_nemotron(options.architecture))
        return layer % 3 == 1;
    if (is_one_of(options.architecture, {falcon_h1, mamba2}))
        return options.architecture == falcon_h1;
    const uint32_t interval = options.attention_interval == 0 ? 4 : options.attention_interval;
    return !is_recurrent(options.architecture) || (layer + 1) % interval == 0;
}

bool has_feed_forward(const RandomModelOptions& options, uint32_t layer) {
    if (options.architecture == mamba2)
        return false;
    return !is_nemotron(options.architecture) || layer % 3 == 2 || layer >= options.layers;
}

bool lists_heads(RandomArchitecture architecture) {
    return is_lfm2(architecture) ||
           (has_mamba(architecture) && !is_one_of(architecture, {falcon_h1, mamba2}));
}

bool has_experts(const RandomModelOptions& options) {
    return (options.mixture && is_one_of(options.architecture, {llama, mistral3, granitehybrid, gemma4})) ||
           is_one_of(options.architecture, {deepseek2, granitemoe, glm4moe, lfm2moe, nemotron_h_moe, qwen2moe,
                                            qwen3moe, qwen3vlmoe, qwen3next, qwen35moe, gpt_oss});
}

bool has_wide_experts(RandomArchitecture architecture) {
    return is_one_of(architecture, {llama, mistral3, granitemoe, granitehybrid});
}

bool has_row_gate(RandomArchitecture architecture) {
    return is_one_of(architecture, {qwen2moe, qwen3next, qwen35moe});
}

bool counts_shared_experts(RandomArchitecture architecture) {
    return is_one_of(architecture, {deepseek2, glm4moe});
}

bool has_shared_expert(const RandomModelOptions& options) {
    return has_row_gate(options.architecture) ||
           (is_one_of(options.architecture, {granitemoe, granitehybrid, nemotron_h_moe}) &&
            has_experts(options) && options.shared_feed_forward != 0) ||
           (counts_shared_experts(options.architecture) && options.shared_experts != 0);
}

uint32_t shared_width(const RandomModelOptions& options) {
    return counts_shared_experts(options.architecture) ? options.shared_experts * options.expert_feed_forward
                                                       : options.shared_feed_forward;
}

bool is_granite(RandomArchitecture architecture) {
    return is_one_of(architecture, {granite, granitemoe, granitehybrid});
}

bool has_post_norms(RandomArchitecture architecture) {
    return is_one_of(architecture, {glm4, gemma2, gemma3, gemma3n, gemma4});
}

bool has_fused_gate(RandomArchitecture architecture) {
    return is_one_of(architecture, {glm4, phi3});
}

bool has_qkv_biases(RandomArchitecture architecture) {
    return is_one_of(architecture, {glm4, glm4moe, qwen2, qwen2moe, qwen2vl, gpt_oss});
}

bool has_head_norms(const RandomModelOptions& options) {
    return (options.architecture == glm4moe && options.head_norms) ||
           is_one_of(options.architecture, {lfm2, lfm2moe, qwen3, qwen3moe, qwen3vl, qwen3vlmoe, qwen3next,
                                            qwen35, qwen35moe, gemma3, gemma3n, gemma4});
}

bool has_layer_inputs(RandomArchitecture architecture) {
    return is_one_of(architecture, {gemma3n, gemma4});
}

bool has_window(const RandomModelOptions& options, uint32_t layer) {
    return (layer + 1) % options.window_pattern != 0;
}

uint32_t head_dim_of(const RandomModelOptions& options, uint32_t layer) {
    const bool own =
        options.architecture == gemma4 && options.window_head_dim != 0 && has_window(options, layer);
    return own ? options.window_head_dim : options.head_dim;
}

uint32_t kv_heads_of(const RandomModelOptions& options, uint32_t layer) {
    if (options.architecture == deepseek2)
        return 1;
    if (lists_heads(options.architecture) && !has_attention(options, layer))
        return 0;
    const bool own =
        options.architecture == gemma4 && options.window_kv_heads != 0 && has_window(options, layer);
    return own ? options.window_kv_heads : options.kv_heads;
}

bool shares_keys(const RandomModelOptions& options, uint32_t layer) {
    return has_layer_inputs(options.architecture) && layer + options.shared_kv_layers >= options.layers;
}

uint32_t feed_forward_of(const RandomModelOptions& options, uint32_t layer) {
    if (!has_feed_forward(options, layer))
        return 0;
    if (is_nemotron(options.architecture) && has_experts(options))
        return options.expert_feed_forward;
    return options.wide_shared_layers && shares_keys(options, layer) ? 2 * options.feed_forward
                                                                     : options.feed_forward;
}

} // namespace etna::test
