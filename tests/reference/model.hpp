#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/gguf/file.hpp"
#include "tests/reference/config.hpp"
#include "tests/reference/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etna::reference {

/// How keys and values are rounded when they are stored. All arithmetic stays in double.
enum class CacheElement {
    exact, ///< not at all
    f32,
    f16,
};

/// Keys and values of one sequence. A copy is a fork: neither sees what the other appends.
struct Cache {
    struct Layer {
        Vector keys;   ///< [entries, kv heads, head length], after rotation
        Vector values; ///< [entries, kv heads, head length]
    };
    CacheElement element = CacheElement::exact;
    std::size_t entry_length = 0; ///< kv heads * head length
    std::vector<Layer> layers = {};

    [[nodiscard]] std::size_t entries() const;

    /// Forgets all but the first `count` entries; no effect where there are fewer.
    void truncate(std::size_t count);
};

/// A whole language model, one token at a time, in double precision: for every block
///     x += W_o attention(rotate(norm(W_q n)), rotate(norm(W_k n)), W_v n)      n = rms_norm(x)
///     x += W_down swiglu(W_gate m, W_up m)                                      m = rms_norm(x)
/// and logits = W_head rms_norm(x). The per-head norm of queries and keys is qwen3's alone.
/// Sources: LLaMA (arXiv 2302.13971), Llama 2 (2307.09288), Qwen3 (2505.09388); tensors as GGUF names them.
/// Immutable after load; thread-safe as long as each thread has a Cache of its own.
class ReferenceModel {
public:
    /// Decodes all weights; the file is not needed afterwards. Errors: those of read_config and load_weights.
    static Result<ReferenceModel> load(const gguf::File& file);

    [[nodiscard]] const Config& config() const { return config_; }
    [[nodiscard]] const Weights& weights() const { return weights_; }
    [[nodiscard]] std::size_t vocabulary() const { return weights_.embedding.rows; }

    [[nodiscard]] Cache make_cache(CacheElement element = CacheElement::exact) const;

    /// Stores the token's keys and values as entry `index` (entries from there on are dropped first), rotated
    /// for `position`, and attends to entries 0 to index. Gives the final norm's output [width].
    /// Preconditions (asserted): token < vocabulary(), index <= cache.entries(), the cache is this model's.
    Vector hidden(TokenId token, std::size_t index, uint32_t position, Cache& cache) const;

    /// The same, through the head: logits [vocabulary].
    Vector forward(TokenId token, std::size_t index, uint32_t position, Cache& cache) const;

    /// Logits [tokens, vocabulary] of a sequence at positions 0, 1, 2, ...
    [[nodiscard]] std::vector<Vector> run(std::span<const TokenId> tokens,
                                          CacheElement element = CacheElement::exact) const;

    /// The `count` tokens that greedy choice puts behind the prompt. Precondition (asserted): a prompt of
    /// >= 1.
    [[nodiscard]] std::vector<TokenId> continue_greedily(std::span<const TokenId> prompt, std::size_t count,
                                                         CacheElement element = CacheElement::exact) const;

private:
    ReferenceModel(Config config, Weights weights);

    [[nodiscard]] Vector attend(const LayerWeights& layer, View x, std::size_t index, uint32_t position,
                                const Cache& cache, Cache::Layer& stored) const;

    Config config_;
    Weights weights_;
    Rotary rotary_;
};

} // namespace etna::reference
