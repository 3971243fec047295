#pragma once

#include "tests/support/gguf_writer.hpp"
#include "tests/support/weight_format.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace etna::test {

enum class RandomArchitecture {
    deepseek2,
    llama,
    mistral3,
    smollm3,
    granite,
    granitemoe,
    granitehybrid,
    glm4,
    glm4moe,
    lfm2,
    lfm2moe,
    nemotron_h,
    nemotron_h_moe,
    qwen2,
    qwen2moe,
    qwen2vl,
    qwen3,
    qwen3moe,
    qwen3vl,
    qwen3vlmoe,
    qwen3next,
    qwen35,
    qwen35moe,
    phi3,
    gemma2,
    gemma3,
    gemma3n,
    gemma4,
    gpt_oss,
    falcon_h1,
    mamba2
};

constexpr RandomArchitecture all_random_architectures[] = {
    RandomArchitecture::deepseek2,      RandomArchitecture::llama,      RandomArchitecture::mistral3,
    RandomArchitecture::smollm3,        RandomArchitecture::granite,    RandomArchitecture::granitemoe,
    RandomArchitecture::granitehybrid,  RandomArchitecture::glm4,       RandomArchitecture::glm4moe,
    RandomArchitecture::lfm2,           RandomArchitecture::lfm2moe,    RandomArchitecture::nemotron_h,
    RandomArchitecture::nemotron_h_moe, RandomArchitecture::qwen2,      RandomArchitecture::qwen2moe,
    RandomArchitecture::qwen2vl,        RandomArchitecture::qwen3,      RandomArchitecture::qwen3moe,
    RandomArchitecture::qwen3vl,        RandomArchitecture::qwen3vlmoe, RandomArchitecture::qwen3next,
    RandomArchitecture::qwen35,         RandomArchitecture::qwen35moe,  RandomArchitecture::phi3,
    RandomArchitecture::gemma2,         RandomArchitecture::gemma3,     RandomArchitecture::gemma3n,
    RandomArchitecture::gemma4,         RandomArchitecture::gpt_oss,    RandomArchitecture::falcon_h1,
    RandomArchitecture::mamba2,
};

/// Whether layers have a recurrent state, so that a sequence cannot be truncated.
bool is_recurrent(RandomArchitecture architecture);

/// The value of general.architecture.
std::string_view to_string(RandomArchitecture architecture);

enum class RopeScaling {
    none,
    linear,   ///< rope.scaling.type "linear" with rope_factor
    yarn,     ///< rope.scaling.type "yarn" with rope_factor and original_context
    llama3,   ///< the tensor rope_freqs.weight: one divisor per pair of rotated dimensions, from 1 up to
              ///< rope_factor
    longrope, ///< rope.scaling.type "longrope" and the tensors rope_factors_short and _long.weight, around 1
              ///< and up to rope_factor, with an attention factor other than 1
};

enum class HeadKind {
    separate, ///< output.weight
    tied,     ///< the head is token_embd.weight
};

enum class RandomTokenizer {
    none,            ///< no tokenizer.* keys: any vocabulary size is possible
    by_architecture, ///< byte-level BPE for the Qwen family, SentencePiece with byte tokens for the others
};

/// The ChatML template as models of the Qwen family carry it, without tools.
extern const std::string_view chatml_template;

/// A tiny model. Every size may be odd, except: head_dim is even (rotation works on pairs), heads is a
/// multiple of kv_heads, and rows are multiples of the block length of their format:
/// multiples of 256 elements for Q2_K to Q6_K and IQ4_XS, of 32 for the other quantised ones.
struct RandomModelOptions {
    RandomArchitecture architecture = RandomArchitecture::llama;
    uint32_t layers = 2;
    uint32_t embedding = 64;
    uint32_t heads = 4;
    uint32_t kv_heads = 2;
    uint32_t head_dim = 16; ///< need not be embedding / heads
    uint32_t feed_forward = 96;
    uint32_t vocabulary = 320; ///< at least minimum_vocabulary() with a tokenizer
    uint32_t context = 256;
    float norm_epsilon = 1e-5F;

    float rope_base = 10000.0F;
    RopeScaling rope_scaling = RopeScaling::none;
    float rope_factor = 4.0F;
    uint32_t original_context = 64; ///< yarn and longrope
    float yarn_log_multiplier = 0;  ///< yarn; 0: no key
    float temperature_scale = 0;    ///< mistral3; 0: no key
    float residual_scale = 0.4F;    ///< granite, granitemoe; 0: no key
    float embedding_scale = 3;      ///< granite, granitemoe; 0: no key
    float attention_scale = 0.3F;   ///< granite, granitemoe; 0: no key
    float logit_scale = 2;          ///< granite, granitemoe: divides the logits
    bool rotates = true;            ///< granite, granitemoe; false: rope.scaling.finetuned is false
    bool coordinates = false;       ///< glm4, glm4moe: rope.dimension_sections

    uint32_t window = 24;        ///< gemma2, gemma3, gemma4, gpt-oss, and phi3 unless 0
    uint32_t window_pattern = 2; ///< gemma2 to gemma4: every window_pattern-th layer has no window; 0: no key
    float attention_softcap = 0; ///< gemma2, gemma3; 0: no key
    float logit_softcap = 0;     ///< gemma2 to gemma4; 0: no key

    uint32_t window_head_dim = 0; ///< gemma4: of layers with a window; 0: head_dim
    uint32_t window_kv_heads = 0; ///< gemma4: the same; 0: kv_heads
    uint32_t shared_kv_layers =
        0; ///< gemma3n, gemma4: the last layers, which read the keys of an earlier one
    uint32_t per_layer_width = 32;   ///< gemma3n, gemma4: of each layer's own input; 0: none
    bool wide_shared_layers = false; ///< gemma3n, gemma4: shared_kv_layers have twice feed_forward
    bool values_are_keys = false;    ///< gemma4: layers without a window have no attn_v
    bool output_scales = true;       ///< gemma4: layer_output_scale
    uint32_t streams = 4;            ///< gemma3n
    uint32_t laurel_rank = 16;       ///< gemma3n
    uint32_t sparse_layers = 1;      ///< gemma3n: first layers, whose gates are sparse

    uint32_t latent_rank = 64; ///< deepseek2: kv_heads and head_dim are not used
    uint32_t query_rank = 32;  ///< deepseek2; 0: attn_q
    uint32_t unrotated = 32;   ///< deepseek2: of a head, whose rotated part is rope.dimension_count (0: 32)
    uint32_t latent_value_dim = 32;  ///< deepseek2: of a head's value
    bool softmax_experts = false;    ///< deepseek2: no sigmoids, and no selection bias
    bool selection_bias = true;      ///< deepseek2: exp_probs_b, unless softmax_experts
    uint32_t expert_groups = 1;      ///< deepseek2, glm4moe
    uint32_t expert_groups_used = 1; ///< the same

    bool mixture = false; ///< llama, mistral3, granitehybrid: experts, as wide as feed_forward; gemma4: in
                          ///< parallel with the dense block
    bool fused_experts = false; ///< of a gated mixture: ffn_gate_up_exps
    bool expert_scales = true;  ///< gemma4: ffn_down_exps.scale
    uint32_t experts = 5;       ///< of a mixture
    uint32_t experts_used = 2;
    uint32_t expert_feed_forward = 32;
    uint32_t dense_layers = 1;         ///< deepseek2, lfm2moe, glm4moe: leading layers without experts
    float expert_scale = 0;            ///< of routing weights; 0: no key
    bool experts_normalised = true;    ///< deepseek2, lfm2moe, glm4moe, nemotron_h_moe: expert_weights_norm
    uint32_t shared_experts = 1;       ///< deepseek2, glm4moe: width of the shared expert, in experts
    bool head_norms = true;            ///< glm4moe: norms on heads
    uint32_t shared_feed_forward = 32; ///< qwen2moe, qwen3next, qwen35moe, and granitemoe unless 0

    /// Recurrent architectures: every attention_interval-th layer has attention; 0: every fourth, and
    /// qwen3next, qwen35 and qwen35moe have no key. nemotron_h and nemotron_h_moe: Mamba 2, attention and a
    /// feed-forward block in turn.
    uint32_t attention_interval = 2;
    uint32_t rotated = 0;         ///< rope.dimension_count; 0: head_dim
    uint32_t delta_key_heads = 2; ///< qwen3next, qwen35, qwen35moe
    uint32_t delta_value_heads = 4;
    uint32_t delta_key_dim = 16;
    uint32_t delta_value_dim = 16;
    uint32_t convolution_width = 4; ///< also lfm2, lfm2moe
    uint32_t mamba_heads = 4;       ///< of Mamba 2
    uint32_t mamba_groups = 2;
    uint32_t mamba_head_dim = 16;
    uint32_t mamba_state_dim = 16;
    bool mamba_norm = true;         ///< falcon_h1: ssm_norm
    bool convolution_bias = true;   ///< the same
    bool fused_inputs = false;      ///< qwen3next: ssm_in, as older files have it
    uint32_t predicting_layers = 0; ///< qwen35, qwen35moe, qwen3next, glm4, glm4moe, deepseek2,
                                    ///< nemotron_h_moe: further layers, which predict further tokens

    bool own_draft_ends = false; ///< with predicting_layers: nextn.embed_tokens and nextn.shared_head_head,
                                 ///< and no nextn.shared_head_norm

    HeadKind head = HeadKind::separate;
    WeightFormat matrices = WeightFormat::f32; ///< attention and feed-forward
    WeightFormat embedding_format = WeightFormat::f32;
    WeightFormat head_format = WeightFormat::f32; ///< of a separate head
    /// Overrides `matrices`, by the name within a layer, or by layer and name, which takes precedence:
    /// {"ffn_down", WeightFormat::q6_k}, {"3.ffn_down", WeightFormat::q8_0}.
    std::map<std::string, WeightFormat, std::less<>> role_formats = {};

    RandomTokenizer tokenizer = RandomTokenizer::by_architecture;
    std::string_view chat_template = {}; ///< tokenizer.chat_template; absent when empty
    std::string_view name = {};          ///< general.name; architecture and seed when empty

    uint64_t seed = 1;
    float scale = 1.0F;      ///< weights of a matrix have the standard deviation scale / sqrt(columns)
    float head_scale = 4.0F; ///< logits have about this standard deviation: higher is peakier
};

/// Smallest vocabulary that the architecture's tokenizer fits in.
uint32_t minimum_vocabulary(RandomArchitecture architecture);

/// Metadata alone, without tensors.
GgufWriter random_model_keys(const RandomModelOptions& options);

/// The model before it is laid out as a file, for tests that add to it, split or damage it.
/// The same options give the same bytes with every compiler and library. Throws std::invalid_argument on
/// options that contradict the rules above.
GgufWriter random_model_writer(const RandomModelOptions& options);

/// The model as a GGUF file in memory, with the key and tensor names of llama.cpp.
Bytes random_model(const RandomModelOptions& options);

} // namespace etna::test
