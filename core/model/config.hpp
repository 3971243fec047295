#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/kernels/kv_cache.hpp"
#include "core/kernels/operations/experts.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/operations/rotary_store.hpp"
#include "core/model/metadata_reader.hpp"
#include "core/model/mixer_config.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace etna::model {

/// Upper bounds on a file's values; products of any two fit 64 bits with room to spare.
constexpr uint32_t layers_max = 1024;
constexpr uint32_t width_max = 1U << 18;
constexpr uint32_t heads_max = 4096;
constexpr uint32_t vocabulary_max = 1U << 19; ///< limit of sampling on the device
constexpr uint32_t context_max = 1U << 26;

enum class RotaryScaling : uint8_t {
    none,
    linear,   ///< every angle divided by `factor` (arXiv 2306.15595)
    yarn,     ///< slow pairs interpolated, fast ones unchanged, magnitude corrected (arXiv 2309.00071)
    longrope, ///< each pair's own divisor, one set up to the original context, one above (arXiv 2402.13753)
};

/// Lists the tokens of a model that are never sampled.
constexpr std::string_view suppressed_tokens_key = "tokenizer.ggml.suppress_tokens";

/// Tensors with precomputed frequency divisors: those of Llama 3's scaling, and LongRoPE's two sets.
constexpr std::string_view rotary_divisors_name = "rope_freqs.weight";
constexpr std::string_view rotary_short_name = "rope_factors_short.weight";
constexpr std::string_view rotary_long_name = "rope_factors_long.weight";

/// RoPE parameters.
struct RotaryConfig {
    uint32_t dims = 0; ///< leading elements of a head that rotate; even
    double base = 10000;
    kernels::RotaryPairs pairs = kernels::RotaryPairs::adjacent;
    RotaryScaling scaling = RotaryScaling::none;
    double factor = 1;             ///< context extension factor
    uint32_t original_context = 0; ///< tokens, before extension
    double attention_factor = 1;   ///< multiplies cos and sin
    double extrapolation = 1;      ///< YaRN: share of the ramp that is applied
    double beta_fast = 32;     ///< YaRN: rotations over the original context from which a pair is unscaled
    double beta_slow = 1;      ///< YaRN: rotations below which a pair is fully interpolated
    double log_multiplier = 0; ///< YaRN: divides the magnitude by 1 + 0.1 log_multiplier ln(factor)
    std::vector<float> divisors = {}; ///< of each pair's frequency, [dims / 2]; empty: all 1
    bool has_divisors = true;         ///< those of the file's tensors apply to it
    std::vector<float> long_divisors =
        {}; ///< LongRoPE: replace `divisors` if the context exceeds the original
};

/// What layers that share one page table have in common.
struct CacheGroup {
    uint32_t window_tokens = 0; ///< 0: full attention; else the sliding window, own position included
    /// Of an encoder's windows: rows attend to positions at most this far away, on both sides.
    std::optional<uint32_t> reach = std::nullopt;
    RotaryConfig rotary;
};

/// Latent attention (DeepSeek-V2, arXiv 2405.04434): keys and values of all heads are projections of one
/// latent for each position, and a part of the key that rotates is shared by the heads. The query is
/// multiplied by the key's projection and the weighted latents by the value's, so that attention has one
/// key/value head, whose key is the latent and the rotated part, and whose value is the latent.
struct LatentConfig {
    uint32_t query_rank = 0; ///< elements of the latent that queries are projected through; 0: none
    uint32_t rank = 0;       ///< elements of a latent
    uint32_t unrotated = 0;  ///< of a query head before its projection
    uint32_t rotated = 0;    ///< of a query head, after the others
    uint32_t value_dim = 0;  ///< of a head's value after its projection

    [[nodiscard]] uint32_t query_dim() const { return unrotated + rotated; }
};

/// Attention over the keys and values of earlier positions.
struct AttentionConfig {
    uint32_t q_heads = 0;
    uint32_t kv_heads = 0;        ///< divides q_heads
    uint32_t head_dim = 0;        ///< of keys; even, at most kernels::head_dim_max, or latent_key_max
    uint32_t group = 0;           ///< cache group
    bool output_gate = false;     ///< attn_q also projects a gate for each element of the heads' outputs
    bool rotates = true;          ///< false: no position embedding (NoPE, arXiv 2501.18795)
    bool values_are_keys = false; ///< no attn_v: values are the keys before norm and rotation
    float alibi = 0;              ///< kernels::Attention's
    bool norms_values = false;    ///< value heads are normalised without a weight
    /// The earlier layer of the same group and shape whose keys and values it reads; empty: its own.
    std::optional<uint32_t> keys_of = std::nullopt;
    /// With one kv head and head_dim = rank + rotated; keys hold the values.
    std::optional<LatentConfig> latent = std::nullopt;

    [[nodiscard]] uint32_t q_width() const { return q_heads * head_dim; }
    [[nodiscard]] uint32_t kv_width() const { return kv_heads * head_dim; }
    [[nodiscard]] uint32_t latent_dim() const { return latent ? latent->rank : 0; } ///< kernels::LayerCache's
    /// With a latent: those of the projected queries, and of the outputs after their projection.
    [[nodiscard]] uint32_t latent_query_width() const { return latent ? q_heads * latent->query_dim() : 0; }
    [[nodiscard]] uint32_t latent_output_width() const { return latent ? q_heads * latent->value_dim : 0; }
};

inline std::vector<StatePart> state_parts(const AttentionConfig&) { // keys and values are not in slots
    return {};
}
/// With a latent LatentAttentionBlock, else AttentionBlock.
OwnedMixer make_mixer(const AttentionConfig& attention, const Weights& weights, const Config& config,
                      uint32_t layer);

/// What may differ between layers.
struct LayerConfig {
    MixerConfig mixer;
    uint32_t feed_forward = 0; ///< width of a dense block; 0: the layer has no feed-forward block
    /// Gates of the dense block are sparse: kernels::StatisticalTopK::deviations; empty: they are not.
    std::optional<float> gate_deviations = std::nullopt;

    /// Null if the layer has another mixer.
    [[nodiscard]] const AttentionConfig* attention() const { return mixer.get_if<AttentionConfig>(); }
    [[nodiscard]] AttentionConfig* attention() { return mixer.get_if<AttentionConfig>(); }
};

/// Mixture of experts that replaces each feed-forward block, or runs in parallel with it.
struct ExpertConfig {
    uint32_t count = 0;             ///< 0: none
    uint32_t experts_per_token = 0; ///< at most count and kernels::experts_per_token_max
    uint32_t feed_forward = 0;      ///< width of one expert
    uint32_t dense_layers = 0;      ///< leading layers with a dense block instead
    kernels::RoutingRule::Scores scores = kernels::RoutingRule::Scores::softmax;
    bool normalised = true;      ///< the routing weights of a row have the sum 1, before `scale`
    float scale = 1;             ///< of the routing weights
    bool selection_bias = false; ///< exp_probs_b is added to scores for the choice
    uint32_t groups = 1;         ///< kernels::RoutingRule's
    uint32_t groups_used = 1;
    uint32_t shared_feed_forward = 0; ///< width of the expert that every row uses; 0: none
    bool gated = true;                ///< false: squared ReLU of Up h instead of a gate
    bool has_dense_branch = false; ///< the layers also have their dense block, with norms of both (Gemma 4)
    bool fused_gate_up = false;    ///< ffn_gate_up_exps holds the rows of each expert's gate and up
    bool shared_row_gate = false;  ///< its output is multiplied by a sigmoid of the row
};

/// A model's hyperparameters, read from metadata and validated: nonzero, bounded, consistent.
struct Config {
    std::string architecture;
    std::vector<LayerConfig> layers;
    uint32_t width = 0;
    uint32_t vocabulary = 0;
    uint32_t context = 0;  ///< tokens that the model was trained for
    float rms_epsilon = 0; ///< of RMS norms, or of layer norms
    /// Encodes texts and generates none: all rows of a text attend to each other.
    bool is_encoder = false;
    bool has_layer_norms = false; ///< of the rows, instead of RMS norms
    /// Norms follow the blocks (arXiv 1706.03762): the norm before a block is that of the block before.
    bool has_post_norms = false;
    bool norms_embedding = false;    ///< the first layer's first norm is the embedding's
    uint32_t positions = 0;          ///< learned embeddings of positions; 0: none
    uint32_t token_types = 0;        ///< embeddings of token types, of which texts have the first; 0: none
    float embedding_scale = 1;       ///< of the embedding table's rows
    float embedding_input_scale = 1; ///< of rows whose input is an embedding
    float attention_scale = 0;       ///< of the scores
    float temperature_scale = 0;     ///< of queries, by position (kernels::RotaryStore); 0: none
    uint32_t temperature_tokens = 0; ///< of a period
    float attention_softcap = 0;     ///< scores s become cap x tanh(s / cap); 0: they stay
    float logit_softcap = 0;         ///< the same for the logits; 0: no cap
    float logit_scale = 1;           ///< multiplies the logits
    std::vector<uint32_t> suppressed_tokens; ///< never sampled; ids below `vocabulary`, ascending
    kernels::Gate gate = kernels::Gate::silu;
    std::string_view feed_forward_norm = "ffn_norm"; ///< stem of the norm's name before a feed-forward block
    std::string_view draft_feed_forward_norm = {};   ///< that of a draft head's layer; empty: the same
    std::string_view output_norm = "output_norm";    ///< stem of the last norm's name
    ExpertConfig experts;
    uint32_t streams = 1;         ///< of alternating updates, with the residual (Gemma 3n)
    uint32_t laurel_rank = 0;     ///< of the low-rank branch of layers with streams
    uint32_t per_layer_width = 0; ///< of the input that each layer has of a token; 0: none
    bool has_draft_head = false;  ///< the last of `layers` belongs to it (DraftHead)
    uint32_t ignored_layers = 0;  ///< in the file after the others: answers do not depend on them
    std::vector<CacheGroup> cache_groups;

    [[nodiscard]] uint32_t layer_count() const { return static_cast<uint32_t>(layers.size()); }
    /// Layers that the answers depend on: all but that of a draft head.
    [[nodiscard]] uint32_t decoder_layers() const { return layer_count() - (has_draft_head ? 1 : 0); }
    [[nodiscard]] uint32_t rotary_dims_max() const; ///< widest rotation of any group

    /// Whether a layer has experts.
    [[nodiscard]] bool has_experts(uint32_t layer) const {
        return experts.count > 0 && layer >= experts.dense_layers && layers[layer].feed_forward > 0;
    }

    /// Stem of the name of a layer's norm before its feed-forward block.
    [[nodiscard]] std::string_view feed_forward_norm_of(uint32_t layer) const {
        const bool is_other = layer == decoder_layers() && !draft_feed_forward_norm.empty();
        return is_other ? draft_feed_forward_norm : feed_forward_norm;
    }

    /// Largest value of a number of any layer with this mixer:
    /// max_of<AttentionConfig>(&AttentionConfig::q_width). Zero without such layers.
    template <class M, class Member>
    [[nodiscard]] auto max_of(Member member) const {
        auto largest = std::decay_t<std::invoke_result_t<Member, const M&>>{};
        for (const LayerConfig& layer : layers) {
            if (const M* mixer = layer.mixer.get_if<M>())
                largest = std::max<decltype(largest)>(largest, std::invoke(member, *mixer));
        }
        return largest;
    }

    /// Whether a sequence has a state in addition to keys and values.
    [[nodiscard]] bool is_recurrent() const;
};

/// How layers may differ in key/value heads and feed-forward widths.
enum class LayerLists : uint8_t { alike, with_zeros, differing, none };

/// Norms of a model's rows: attention.layer_norm_rms_epsilon, or attention.layer_norm_epsilon.
enum class NormKind : uint8_t { rms, layer };

/// Reads what decoder architectures share, under keys "<architecture>.*" of the GGUF specification, with its
/// defaults: one key/value head for each query head, head_dim = width / q_heads, scores scaled by 1 /
/// sqrt(head_dim), rotation of entire heads with base 10000. One full cache group, dense layers. Errors stay
/// in the reader: corrupt (a key is missing, of the wrong type, out of bounds or contradicts another; names
/// key and value), unsupported (well-formed, but not built: per-layer head counts, unknown rope scaling). The
/// result is meaningless after an error.
///
/// With LayerLists::with_zeros, attention.head_count_kv and feed_forward_length may list their value or 0 for
/// each layer: a layer with 0 has no mixer, or no feed-forward block. With LayerLists::differing, they may
/// list any values above 0. With LayerLists::none, neither is read: layers have no mixer and no feed-forward
/// block, and the cache group has no rotation.
Config read_common(MetadataReader& reader, kernels::RotaryPairs pairs, LayerLists lists = LayerLists::alike,
                   NormKind norms = NormKind::rms);

/// The same with latent attention in every layer: attention.kv_lora_rank, attention.q_lora_rank (if absent or
/// 0, queries are projected directly), attention.key_length_mla and attention.value_length_mla of a head
/// before absorption. YaRN's magnitude is a factor of the scores, (1 + 0.1 m ln(factor))^2 with m =
/// yarn_log_multiplier / 0.1 (mscale_all_dim of the published configurations), if m is not 0.
Config read_latent_common(MetadataReader& reader, kernels::RotaryPairs pairs);

/// attention.sliding_window; 0: none. Without a fallback the key is required.
uint32_t read_window(MetadataReader& reader, std::optional<uint32_t> fallback = std::nullopt);

/// Positions that a window covers: those up to its length before the row, itself included; or those at most
/// half of it away.
enum class WindowSides : uint8_t { before, both };

/// The windowed layers of a model whose others have full attention.
struct WindowPattern {
    uint32_t window_tokens = 0; ///< 0: none has a window
    uint32_t period = 1;        ///< if the file has no pattern: all but every `period`-th have one
    RotaryConfig rotary;        ///< of the windowed layers; rope.freq_base_swa replaces its base
    WindowSides sides = WindowSides::before;
};

/// Adds a cache group of windowed layers, those that attention.sliding_window_pattern lists or counts.
void add_windowed_layers(MetadataReader& reader, Config& config, WindowPattern pattern);

/// A truth value for each layer. Empty if the key is absent; fails the reader if it is of another type or
/// length.
std::vector<bool> read_layer_flags(MetadataReader& reader, std::string_view key, uint32_t layers);

/// A soft cap; `fallback` if the key is absent.
float read_softcap(MetadataReader& reader, std::string_view key, double fallback = 0);

/// Fails the reader if the file has experts.
void refuse_experts(MetadataReader& reader);

/// expert_count, expert_used_count, expert_feed_forward_length, expert_weights_scale.
ExpertConfig read_experts(MetadataReader& reader, const Config& config);

/// Experts as wide as a dense block; none if expert_count is absent or 0.
ExpertConfig read_optional_experts(MetadataReader& reader, const Config& config);

/// read_experts() with leading_dense_block_count, expert_gating_func (sigmoid if absent),
/// expert_weights_norm (true if absent), a selection bias and read_expert_groups().
ExpertConfig read_biased_experts(MetadataReader& reader, const Config& config);

/// expert_group_count and expert_group_used_count. Precondition: count and experts_per_token have been read.
void read_expert_groups(MetadataReader& reader, ExpertConfig& experts);

/// expert_shared_count experts that every row uses, as one.
void read_shared_count(MetadataReader& reader, ExpertConfig& experts);

/// read_experts() with expert_shared_feed_forward_length, or the width of a dense block, for a shared expert
/// with a row gate.
ExpertConfig read_experts_and_shared(MetadataReader& reader, const Config& config);

/// read_common() for an architecture without specifics; experts are rejected.
Result<Config> read_config(const gguf::File& file, std::string_view architecture, kernels::RotaryPairs pairs);

} // namespace etna::model
