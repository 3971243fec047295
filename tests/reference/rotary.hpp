#pragma once

#include "tests/reference/operations.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

/// Rotary position embedding: pair i of a head is turned by the angle position * inverse_frequencies[i].
/// Su et al., RoFormer, arXiv 2104.09864.
namespace etna::reference {

/// Which two elements of the `rotated` first ones of a head make pair i.
enum class Pairing {
    adjacent,   ///< 2i and 2i + 1: the order of RoFormer, and of GGUF files of the llama architecture
    half_split, ///< i and i + rotated / 2: GPT-NeoX, and qwen3
};

/// YaRN, arXiv 2309.00071. A pair that turns fewer than beta_slow times over the original context is
/// interpolated (slowed down by the scaling factor), one that turns more than beta_fast times is unchanged,
/// with a linear ramp over the pair's number between.
struct Yarn {
    double original_context_tokens = 0;
    double beta_fast = 32;
    double beta_slow = 1;
    double log_multiplier = 0; ///< the magnitude is divided by 0.1 * log_multiplier * ln(factor) + 1
};

struct RotaryOptions {
    std::size_t rotated = 0; ///< elements of a head that are rotated: the first ones; even
    double base = 10000;
    double factor = 1;             ///< linear scaling: positions are divided by this; for YaRN the scale s
    std::optional<Yarn> yarn = {}; ///< scaling is linear when empty
    double attention_factor = 1;
    /// llama3 scaling, tensor `rope_freqs.weight`: [rotated / 2]; empty means all 1.
    Vector divisors = {};
};

/// The frequency of each pair, and the magnitude that multiplies cosine and sine.
struct Rotary {
    Vector inverse_frequencies; ///< [rotated / 2], radians per position
    double magnitude = 1;
};

/// inverse_frequencies[i] = base^(-2i / rotated) / divisors[i], then scaled: linear divides all by `factor`;
/// YaRN blends divided and undivided and multiplies the magnitude by 0.1 * ln(factor) + 1 if factor > 1, and
/// divides it by the same with log_multiplier (mscale_all_dim of the published configurations).
/// Preconditions (asserted): rotated is even, divisors is empty or [rotated / 2], base > 1 and factor > 0.
Rotary make_rotary(const RotaryOptions& options);

/// Turns one head [head_length] in place; elements from 2 * inverse_frequencies.size() on are unchanged.
///     (a, b) -> magnitude * (a cos t - b sin t, a sin t + b cos t),  t = position * inverse_frequencies[i]
void rotate(std::span<double> head, uint32_t position, Pairing pairing, const Rotary& rotary);

/// Turns each head of `heads` [head count, head_length].
void rotate_heads(std::span<double> heads, std::size_t head_length, uint32_t position, Pairing pairing,
                  const Rotary& rotary);

} // namespace etna::reference
