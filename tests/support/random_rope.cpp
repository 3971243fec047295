#include "tests/support/random_rope.hpp"

#include <algorithm>
#include <vector>

namespace etna::test {
namespace {

/// Divisors of a llama-3 model: 1 for the fast pairs, rope_factor for the slow ones, a ramp between.
std::vector<float> rope_divisors(const RandomModelOptions& options) {
    const uint32_t pairs = options.head_dim / 2;
    std::vector<float> divisors(pairs);
    for (uint32_t i = 0; i < pairs; ++i) {
        const float fraction = (static_cast<float>(i) + 0.5F) / static_cast<float>(pairs);
        divisors[i] = 1.0F + (options.rope_factor - 1.0F) * std::clamp(3.0F * fraction - 1.0F, 0.0F, 1.0F);
    }
    return divisors;
}

} // namespace

void add_rope_tensors(TensorMaker& tensors, const RandomModelOptions& options) {
    if (options.architecture == RandomArchitecture::gemma4) { // a quarter of the pairs rotates
        std::vector<float> divisors(options.head_dim / 2, 1e30F);
        std::fill_n(divisors.begin(), (divisors.size() + 3) / 4, 1.0F);
        tensors.vector("rope_freqs.weight", divisors);
    }
    if (options.rope_scaling == RopeScaling::llama3)
        tensors.vector("rope_freqs.weight", rope_divisors(options));
    if (options.rope_scaling != RopeScaling::longrope)
        return;
    std::vector<float> divisors = rope_divisors(options);
    tensors.vector("rope_factors_long.weight", divisors);
    for (float& divisor : divisors)
        divisor = 1.0F + 0.1F * (divisor - 1.0F);
    tensors.vector("rope_factors_short.weight", divisors);
}

} // namespace etna::test
