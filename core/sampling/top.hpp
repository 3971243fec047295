#pragma once

#include "core/sampling/candidate.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace etna::sampling {

/// Puts the first `count` candidates of logits [vocabulary], or all if there are fewer, into `out`, in order,
/// without those of -infinity. Reuses the memory of `out`. For top-k, and the top tokens of
/// log-probabilities. Precondition: no NaN.
void find_top(std::span<const float> logits, std::size_t count, std::vector<Candidate>& out);

} // namespace etna::sampling
