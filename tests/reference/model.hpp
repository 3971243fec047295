#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/gguf/file.hpp"
#include "tests/reference/attention.hpp"
#include "tests/reference/cache_element.hpp"
#include "tests/reference/config.hpp"
#include "tests/reference/delta_net.hpp"
#include "tests/reference/mamba2.hpp"
#include "tests/reference/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::reference {

/// The arithmetic of linear layers.
enum class Units { plain, matrix };

/// Keys, values and recurrent states of one sequence. A copy is a fork: entries appended to one are not in
/// the other.
struct Cache {
    struct Layer {
        Vector keys;                        ///< [entries, kv heads, head length], after rotation
        Vector values;                      ///< [entries, kv heads, head length or value length]
        std::size_t entry_length = 0;       ///< kv heads * head length
        std::size_t value_entry_length = 0; ///< of values
        std::optional<DeltaNet> delta_net;  ///< of a gated delta net
        std::optional<Mamba2> mamba;        ///< of Mamba 2
        bool attends_in_half = false;       ///< on matrix units
        Matrix inputs = {};                 ///< of a recurrent layer's convolution [entries, columns]
    };
    CacheElements elements = {};
    std::vector<Layer> layers = {};
    std::size_t count = 0; ///< entries

    [[nodiscard]] std::size_t entries() const { return count; }

    /// Removes all but the first `kept` entries; no effect if there are fewer. Precondition (asserted): no
    /// layer is recurrent, or none are removed.
    void truncate(std::size_t kept);
};

/// A complete language model, one token at a time, in double precision: for every block
///     x += W_o attention(rotate(norm(W_q n)), rotate(norm(W_k n)), W_v n)      n = rms_norm(x)
///     x += W_down swiglu(W_gate m, W_up m)                                      m = rms_norm(x)
/// and logits = W_head rms_norm(x). The per-head norm of queries and keys belongs to qwen3, qwen3moe and
/// gemma3; gemma3 also scales the embedding, has a GELU gate, post-norms, and separate RoPE parameters in
/// sliding-window layers; in qwen3moe the second line is a mixture of the experts that a router selects, in
/// gpt-oss too, which has biases, a sink in each softmax, and a clamped gate; with delta nets (qwen3next,
/// qwen35, qwen35moe) the first line is
///     x += W_o gated_norm(delta_net(convolution(W_qkv n), W_a n, W_b n), W_z n)
/// in recurrent layers (Mamba 2 in granitehybrid and nemotron_h: x += W_o
/// gate_first_norm(mamba(convolution(x, B, C), dt), z) with z, x, B, C, dt = W_in n; lfm2: x += W_o
/// gated_short_convolution(W_in n)), and attention is multiplied by sigmoid(W_g n) before W_o in the others.
/// A shared expert is one more feed-forward network in the second line, multiplied by sigmoid(w m).
/// gemma4 follows gemma3, with unscaled scores, values v / rms(v) of each head, head lengths of the layer,
/// and after the second line
///     x += rms_norm(W_proj (gelu(W_gate x) * p));  x *= scale
/// where p is the layer's part of
///     (rms_norm(W_project e / sqrt(width)) + sqrt(size p) table[token]) / sqrt(2)      e = the scaled
///     embedding
/// and in its mixtures the second line is
///     x += rms_norm(rms_norm(dense(rms_norm(x))) + rms_norm(experts(rms_norm(x))))
/// whose router reads rms_norm(x) / sqrt(width), and whose shares are multiplied by a scale of each expert.
/// gemma3n follows gemma4 without experts; the layers work on stream 0 of several (AltUp, altup.hpp), with
/// x = (x + h + rms_norm(W_right W_left h)) / sqrt(2), h = n of its prediction, after the first line (Laurel,
/// arXiv 2411.07501), statistical top-k (2506.06644) of gates, and its input of a layer goes to the other
/// streams. mamba2 has the first line alone. falcon-h1 adds attention and Mamba 2 of one n in its first line;
/// without the norm, y silu(z) goes to W_o. deepseek2 stores a normalised latent c = rms_norm(W_down n) and a
/// rotated part r for each position, of which the keys [W_k c, r] and values W_v c of every head are made
/// before attention; queries may have a latent too. granite scales embeddings, scores and what is added to x,
/// and divides logits. Sources: LLaMA (arXiv 2302.13971), Llama 2 (2307.09288), Qwen2 (2407.10671), Qwen3
/// (2505.09388), Phi 3 (2404.14219), LongRoPE (2402.13753), Gemma 2 and 3 (2408.00118, 2503.19786), Gemma 4
/// (transformers, modeling_gemma4.py), DeepSeek-V2 and -V3 (2405.04434, 2412.19437), gpt-oss (2508.10925),
/// gated delta nets (2412.06464); tensors as GGUF names them. Immutable after load; thread-safe if each
/// thread has a separate Cache.
class ReferenceModel {
public:
    /// Decodes all weights; the file is not needed afterwards. Errors: those of read_config and load_weights.
    /// `context_tokens`: length of the longest sequence, which selects longrope's divisors; 0: the model's
    /// context.
    static Result<ReferenceModel> load(const gguf::File& file, std::size_t context_tokens = 0);

    [[nodiscard]] const Config& config() const { return config_; }
    [[nodiscard]] const Weights& weights() const { return weights_; }
    [[nodiscard]] std::size_t vocabulary() const { return weights_.embedding.rows; }

    [[nodiscard]] Cache make_cache(CacheElements elements = {}) const;

    /// Stores the token's keys and values as entry `index` (entries from there on are dropped first), rotated
    /// for `position`, and attends to entries 0 to index. Returns the final norm's output [width]. On matrix
    /// units the linear layers are linear_in_half, but for the router and the experts: of these the kernels
    /// round some, which the twins of kernels show, and a model within its bar. Preconditions (asserted):
    /// token < vocabulary(), index <= cache.entries(), the cache is this model's.
    Vector hidden(TokenId token, std::size_t index, uint32_t position, Cache& cache,
                  Units units = Units::plain) const;

    /// Final norm's outputs [tokens, width] of a sequence whose tokens attend to each other, later ones
    /// included, at positions 0, 1, 2, ...; in layers with a window from position + 1 - window on. Recurrent
    /// layers see earlier tokens only.
    [[nodiscard]] std::vector<Vector> hidden_together(std::span<const TokenId> tokens) const;

    /// hidden(), through the head, which is always exact: logits [vocabulary].
    Vector forward(TokenId token, std::size_t index, uint32_t position, Cache& cache,
                   Units units = Units::plain) const;

    /// Logits [vocabulary] of the draft head for the token after `next`, which follows entry `index`, whose
    /// hidden() is given (arXiv 2412.19437, 2.2):
    ///     x = W_projection [rms_norm(embedding[next]), rms_norm(hidden)], then one more layer
    ///     logits = W_head rms_norm(x)
    /// Stores its keys and values as hidden() does. Preconditions (asserted): the model has a draft head,
    /// which has stored entries 0 to index - 1.
    Vector draft(View hidden, TokenId next, std::size_t index, uint32_t position, Cache& cache,
                 Units units = Units::plain) const;

    /// draft() for each token but the last one [tokens - 1, vocabulary], as run().
    [[nodiscard]] std::vector<Vector> run_drafts(std::span<const TokenId> tokens, CacheElements elements = {},
                                                 std::size_t matrix_tokens = 0) const;

    /// Logits [tokens, vocabulary] of a sequence at positions 0, 1, 2, ..., of which the first
    /// `matrix_tokens` go through matrix units.
    [[nodiscard]] std::vector<Vector> run(std::span<const TokenId> tokens, CacheElements elements = {},
                                          std::size_t matrix_tokens = 0) const;

    /// The logits of run() from token `first` on. For tokens before it the last layer only stores keys and
    /// values, which is all that later ones read, so that a long sequence is affordable.
    [[nodiscard]] std::vector<Vector> run_from(std::size_t first, std::span<const TokenId> tokens,
                                               CacheElements elements = {}) const;

    /// The `count` tokens that greedy decoding generates after the prompt. Precondition (asserted): the
    /// prompt is not empty.
    [[nodiscard]] std::vector<TokenId> continue_greedily(std::span<const TokenId> prompt, std::size_t count,
                                                         CacheElements elements = {}) const;

private:
    ReferenceModel(Config config, Weights weights);

    /// Purpose of a token's pass through the layers.
    enum class Purpose { hidden, stored };

    /// hidden(); empty if the keys, values and states that it stores are all that is needed.
    Vector pass(TokenId token, std::size_t index, uint32_t position, Cache& cache, Units units,
                Purpose purpose) const;

    /// Rotates the heads, unless the layer has no rotation.
    void turn(std::size_t layer_index, Vector& heads, uint32_t position) const;
    /// The factor of a query: 1 + scale * ln(1 + floor(position / tokens)).
    [[nodiscard]] double temperature(uint32_t position) const;
    void store(std::size_t layer_index, View x, uint32_t position, const CacheElements& elements,
               Cache::Layer& stored, Units units) const;
    [[nodiscard]] Vector attend(std::size_t layer_index, View x, uint32_t position, EntryRange range,
                                const Cache::Layer& stored, Units units) const;
    void store_latent(std::size_t layer_index, View x, uint32_t position, const CacheElements& elements,
                      Cache::Layer& stored, Units units) const;
    [[nodiscard]] Vector attend_to_latents(std::size_t layer_index, View x, uint32_t position,
                                           EntryRange range, const Cache::Layer& stored, Units units) const;
    [[nodiscard]] EntryRange visible(std::size_t layer_index, std::size_t index, std::size_t end) const;
    [[nodiscard]] Vector add_mixed(std::size_t layer_index, View x, View mixed) const;
    [[nodiscard]] Vector add_feed_forward(std::size_t layer_index, View x, Units units) const;
    [[nodiscard]] Vector add_layer_input(std::size_t layer_index, View x, View input, Units units) const;
    /// The inputs of all layers [layers, per-layer width] of a token with the scaled embedding x; empty if
    /// the model has none.
    [[nodiscard]] Vector layer_inputs(TokenId token, View x, Units units) const;
    /// The part of layer_inputs() of one layer.
    [[nodiscard]] View layer_input(std::size_t layer_index, View inputs) const;
    [[nodiscard]] const Cache::Layer& read_by(std::size_t layer_index, const Cache& cache) const;
    [[nodiscard]] Vector mamba(const Mamba2Weights& mixer, View x, Cache::Layer& stored, Units units) const;
    /// Whether a recurrent layer also has attention.
    [[nodiscard]] bool has_both(std::size_t layer_index) const;
    [[nodiscard]] Vector mix(std::size_t layer_index, View x, Cache::Layer& stored, Units units) const;
    [[nodiscard]] Vector short_convolution(const ConvolutionWeights& mixer, View x, Cache::Layer& stored,
                                           Units units) const;
    [[nodiscard]] Vector delta_net(const DeltaNetWeights& net, View x, Cache::Layer& stored,
                                   Units units) const;
    /// Of gemma3n: all streams of an embedding; none in other architectures.
    [[nodiscard]] std::vector<Vector> expand(View x, Units units) const;
    [[nodiscard]] Vector merge(const std::vector<Vector>& streams, Units units) const;
    [[nodiscard]] Vector add_laurel(const LayerWeights& layer, View prediction, View x, Units units) const;
    /// The predictions, corrected by the layer's result for the first, and with its input.
    [[nodiscard]] std::vector<Vector> corrected(const LayerWeights& layer,
                                                const std::vector<Vector>& predictions, View x, View input,
                                                Units units) const;
    [[nodiscard]] Vector feed_forward(std::size_t layer_index, View x, Units units) const;
    [[nodiscard]] Vector experts(const LayerWeights& layer, View x) const;
    /// Of gemma4, from the stream itself: the sum of both branches after their norms.
    [[nodiscard]] Vector dense_and_experts(const LayerWeights& layer, View x, Units units) const;
    [[nodiscard]] Vector shared_expert(const LayerWeights& layer, View x, Units units) const;

    Config config_;
    Weights weights_;
    Rotary rotary_;
    Rotary window_rotary_; ///< of layers with a window
};

} // namespace etna::reference
