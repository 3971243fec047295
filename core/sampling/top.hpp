#pragma once

#include "core/sampling/candidate.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace etna::sampling {

/// Puts the `count` candidates of logits [vocabulary] that come first, or all where there are fewer, into
/// `out`, in order, those of -infinity left out. `out` keeps its memory. Top-k, and the top tokens of
/// log-probabilities. Precondition: no NaN.
void find_top(std::span<const float> logits, std::size_t count, std::vector<Candidate>& out);

} // namespace etna::sampling
