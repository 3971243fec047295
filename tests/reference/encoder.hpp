#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/gguf/file.hpp"
#include "tests/reference/operations.hpp"
#include "tests/reference/rotary.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace etna::reference {

/// A text encoder in double precision that computes one text at a time:
///     bert, nomic-bert, jina-bert-v2:
///                         x = norm(x + W_o attention(x));  x = norm(x + feed_forward(x))
///     modern-bert:        x = x + W_o attention(norm(x));  x = x + feed_forward(norm(x))
///     gemma-embedding:    x = x + norm(W_o attention(norm(x)));  x = x + norm(feed_forward(norm(x)))
/// The initial x is norm(embedding of the token + of its position + of token type 0). All tokens attend to
/// each other. modern-bert: the first layer has no first norm, the last x is normalised again, and two of
/// three layers attend to positions at most half a window away, with separate RoPE parameters. So do five of
/// six layers of gemma-embedding, whose norms are RMS norms, also on the heads of queries and keys, and whose
/// embeddings are scaled by sqrt(width). feed_forward is W_down gelu(W_up x) in bert, W_down (silu(W_gate x)
/// W_up x) in nomic-bert, and W_down (gelu(W_gate x) W_up x) in modern-bert, whose gate is the first half of
/// ffn_up, and in gemma-embedding with GELU by tanh. jina-bert-v2 has ALiBi instead of a
/// rotation, and W_down (gelu(W_gate x) W_up x). bert has no rotation, but embeddings of positions.
/// Sources: BERT (arXiv 1810.04805), XLM-R (1911.02116), Nomic Embed (2402.01613), ModernBERT (2412.13663),
/// EmbeddingGemma (2509.20354); tensors as GGUF names them. Immutable after load.
class ReferenceEncoder {
public:
    /// Decodes all weights. Errors: corrupt (a key or tensor is missing, or a tensor is unknown),
    /// unsupported (another architecture).
    static Result<ReferenceEncoder> load(const gguf::File& file);

    /// Returns the last hidden states [tokens, width].
    [[nodiscard]] std::vector<Vector> hidden(std::span<const TokenId> tokens) const;

private:
    struct Norm {
        Vector weight;
        Vector bias; ///< may be empty
    };
    struct Linear {
        Matrix weight;
        Vector bias; ///< may be empty
    };
    struct Layer {
        std::optional<Norm> before_attention; ///< modern-bert, except for its first layer
        std::optional<Norm> before_feed_forward;
        std::optional<Norm> attention_result; ///< gemma-embedding
        std::optional<Norm> feed_forward_result;
        Vector query_norm; ///< [head length], or empty
        Vector key_norm;
        std::optional<Norm> after_attention; ///< bert, nomic-bert
        std::optional<Norm> after_feed_forward;
        Linear query, key, value, output;
        Linear gate; ///< without rows: none
        Linear up, down;
        bool has_window = false;
    };

    [[nodiscard]] bool is_gemma() const { return architecture_ == "gemma-embedding"; }
    /// The heads, normalised if `norm` is not empty.
    [[nodiscard]] Vector normalised_heads(Vector heads, const Vector& norm) const;
    [[nodiscard]] static Vector apply(const Linear& linear, View x);
    [[nodiscard]] Vector normalised(const std::optional<Norm>& norm, View x) const;
    [[nodiscard]] std::vector<Vector> attend(const Layer& layer, const std::vector<Vector>& x) const;
    [[nodiscard]] Vector feed_forward(const Layer& layer, View x) const;

    friend class EncoderReader;

    std::string architecture_;
    std::size_t heads_ = 0;
    std::size_t kv_heads_ = 0;
    std::size_t head_length_ = 0;
    std::size_t reach_ = 0; ///< positions on each side in layers with a window
    double epsilon_ = 0;
    Matrix tokens_;
    Matrix positions_; ///< without rows: none
    Matrix types_;     ///< the same
    std::optional<Norm> embedding_norm_;
    std::vector<Layer> layers_;
    std::optional<Norm> output_norm_;
    std::optional<Rotary> rotary_;
    std::optional<Rotary> window_rotary_;
};

} // namespace etna::reference
