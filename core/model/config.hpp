#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/kernels/operations.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::model {

/// Bounds on what a file may claim; products of any two fit 64 bits with room to spare.
constexpr uint32_t layers_max = 1024;
constexpr uint32_t width_max = 1U << 18;
constexpr uint32_t heads_max = 4096;
constexpr uint32_t vocabulary_max = 1U << 19; ///< what sampling on the device takes
constexpr uint32_t context_max = 1U << 26;

enum class RotaryScaling : uint8_t {
    none,
    linear, ///< every angle divided by `factor` (arXiv 2306.15595)
    yarn,   ///< slow pairs interpolated, fast ones kept, magnitude corrected (arXiv 2309.00071)
};

/// Tensor with ready frequency divisors, as Llama 3's scaling arrives.
constexpr std::string_view rotary_divisors_name = "rope_freqs.weight";

/// How positions become angles.
struct RotaryConfig {
    uint32_t dims = 0; ///< leading elements of a head that rotate; even
    double base = 10000;
    kernels::RotaryPairs pairs = kernels::RotaryPairs::adjacent;
    RotaryScaling scaling = RotaryScaling::none;
    double factor = 1;             ///< by how much the context was stretched
    uint32_t original_context = 0; ///< tokens, before stretching
    double attention_factor = 1;   ///< multiplies cos and sin
    double extrapolation = 1;      ///< YaRN: share of the ramp that is applied
    double beta_fast = 32;         ///< YaRN: rotations over the original context from which a pair is kept
    double beta_slow = 1;          ///< YaRN: rotations below which a pair is fully interpolated
    std::vector<float> divisors;   ///< of each pair's frequency, [dims / 2]; empty: all 1
};

/// Layers whose caches share one page table.
struct CacheGroup {
    uint32_t window_tokens = 0; ///< 0: every earlier place
    uint32_t layers = 0;
};

/// What a model is, read from metadata and validated: nonzero, bounded, consistent.
struct Config {
    std::string architecture;
    uint32_t layers = 0;
    uint32_t width = 0;
    uint32_t q_heads = 0;
    uint32_t kv_heads = 0; ///< divides q_heads
    uint32_t head_dim = 0; ///< even, at most kernels::head_dim_max
    uint32_t feed_forward = 0;
    uint32_t vocabulary = 0;
    uint32_t context = 0; ///< tokens the model was made for
    float rms_epsilon = 0;
    RotaryConfig rotary;
    std::vector<CacheGroup> cache_groups;

    [[nodiscard]] uint32_t q_width() const { return q_heads * head_dim; }
    [[nodiscard]] uint32_t kv_width() const { return kv_heads * head_dim; }
};

/// The part that dense decoder architectures share, under keys "<architecture>.*" of the GGUF specification,
/// with its defaults: one key/value head for each query head, head_dim = width / q_heads, rotation of whole
/// heads with base 10000. One full cache group. Errors: corrupt (a key is missing, of the wrong type, out of
/// bounds or contradicts another; names key and value), unsupported (well-formed, but not built: experts,
/// per-layer head counts, unknown rope scaling).
Result<Config> read_config(const gguf::File& file, std::string_view architecture, kernels::RotaryPairs pairs);

} // namespace etna::model
