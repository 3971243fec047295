#pragma once

#include "core/sampling/sampler.hpp"

#include <cstdint>
#include <span>

namespace etna::sampling {

/// Sampler::choose() for a single use, without history.
Result<Choice> choose(const Parameters& parameters, std::span<const float> logits, uint32_t position);
Result<Choice> choose(const Parameters& parameters, std::span<const Candidate> candidates, uint32_t position);

/// log(sum(exp(logits))), in double. -infinity for no logits; NaN if any logit is.
double log_sum_exp(std::span<const float> logits);

} // namespace etna::sampling
