#pragma once

#include <cstdint>

namespace etna::sampling {

/// How one token is chosen from a row of logits. Filters apply in this order, each on the distribution that
/// the one before left (renormalised): top-k, top-p, min-p; then temperature; then one draw. Temperature 0 is
/// greedy: the largest logit, the smallest id among equals, whatever the filters say.
struct Parameters {
    float temperature = 0.8F; ///< >= 0
    uint32_t top_k = 40;      ///< keep this many most likely tokens; 0 keeps all
    float top_p = 0.95F;      ///< smallest set with at least this probability, (0, 1]; 1 keeps all
    float min_p = 0.05F;      ///< drop tokens below min_p x the most likely one's probability, [0, 1]
    uint32_t seed = 0;        ///< random state; with the position it determines the draw
};

/// A uniform number in [0, 1) with 24 random bits that depends on seed and position alone: Philox4x32-10
/// (Salmon et al., SC 2011) with key (seed, 0) and counter (position, 0, 0, 0), top 24 bits of the first
/// word. The device computes the same number (shaders/sample).
float uniform(uint32_t seed, uint32_t position);

} // namespace etna::sampling
