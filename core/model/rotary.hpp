#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/model/config.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace etna::model {

/// Angles of rotary position embedding (arXiv 2104.09864), computed on the host in double, so that they are
/// exact for any position. Pair i turns by position x frequency(i), frequency(i) = base^(-2i / dims), then
/// scaled:
///   divisors (Llama 3)  frequency(i) / divisors[i]
///   linear              frequency(i) / factor
///   LongRoPE            frequency(i) / divisors[i], one set of divisors for a context of up to the original
///                       one, another above; magnitude attention_factor (arXiv 2402.13753)
///   YaRN                frequency(i) x ((1 - keep(i)) / factor + keep(i)); keep decreases from 1 to 0
///                       between the pairs that turn beta_fast and beta_slow times over the original
///                       context; the magnitude of cos and sin is attention_factor x
///                       (1 + 0.1 ln factor) / (1 + 0.1 log_multiplier ln factor)
///                       (arXiv 2309.00071, sections 3.2 to 3.4)
/// Immutable and thread-safe.
class Rotary {
public:
    /// `context_tokens`: length of the longest sequence served. It fixes LongRoPE's divisors: keys rotated
    /// with different divisors cannot share a cache.
    Rotary(const RotaryConfig& config, uint32_t context_tokens);

    /// Radians per position, [dims / 2].
    [[nodiscard]] std::span<const double> frequencies() const { return frequencies_; }
    [[nodiscard]] double magnitude() const { return magnitude_; }

    /// Writes (cos, sin) x magnitude for each pair: `out` has dims elements.
    void angles(uint32_t position, std::span<float> out) const;

private:
    std::vector<double> frequencies_;
    double magnitude_ = 1;
};

/// Frequency divisors from an F32 tensor of `pairs` positive finite values.
/// Errors: corrupt, unsupported (another type); each names the tensor.
Result<std::vector<float>> read_divisors(const gguf::File& file, const gguf::Tensor& tensor, uint32_t pairs);

} // namespace etna::model
