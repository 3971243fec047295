#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "tests/reference/rotary.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace etna::reference {

/// What a gate's values go through.
enum class GateKind { silu, gelu };

/// What a GGUF file's metadata says about a model of the architecture `llama`, `qwen2`, `qwen3`, `qwen3moe`,
/// `phi3` or `gemma3`.
struct Config {
    std::string architecture;
    std::size_t context_tokens = 0; ///< that the model was made for
    std::size_t layers = 0;
    std::size_t width = 0;        ///< of the residual stream ("embedding length")
    std::size_t feed_forward = 0; ///< width between gate / up and down
    std::size_t heads = 0;
    std::size_t kv_heads = 0;
    std::size_t head_length = 0; ///< of keys and of values
    double epsilon = 0;
    Pairing pairing = Pairing::adjacent;
    RotaryOptions rotary; ///< without divisors: they are a tensor
    /// Of layers with a window, where they rotate in another way (gemma3).
    std::optional<RotaryOptions> window_rotary = {};
    double original_context_tokens = 0;    ///< above it longrope takes its long divisors
    std::vector<std::size_t> windows = {}; ///< [layers], 0 where a layer sees everything
    double embedding_scale = 1;
    double attention_scale = 0;
    double attention_soft_cap = 0; ///< 0: none
    double logit_soft_cap = 0;     ///< 0: none
    GateKind gate = GateKind::silu;
    std::size_t experts = 0; ///< 0: a plain feed-forward network
    std::size_t experts_used = 0;
    std::size_t expert_feed_forward = 0;
};

/// Reads the keys `ARCHITECTURE.*` of the GGUF specification, with the defaults of the convention: kv heads
/// as many as heads, head length = width / heads, rotated = head length, base 10000, no scaling (a scaling
/// factor without a type is linear), YaRN's original context = context_length, its betas 32 and 1, attention
/// factor 1; gemma3: every sixth layer without window, windows rotate with base 10000 unscaled. Errors:
/// unsupported (architecture, scaling type, values of another length than keys), corrupt (a key that is
/// missing, of the wrong type, zero, or contradicts another).
Result<Config> read_config(const gguf::File& file);

} // namespace etna::reference
