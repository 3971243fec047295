#pragma once

#include "core/base/token.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace etna::sampling {

/// A token that can be sampled.
struct Candidate {
    TokenId token = 0;
    float logit = 0;
};

/// The order of every list of candidates: descending logit, smaller id first among equals.
inline bool comes_before(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

/// Puts the first `count` candidates of logits [vocabulary], or all if there are fewer, into `out`, in order,
/// without those of -infinity. Reuses the memory of `out`. For top-k, and the top tokens of
/// log-probabilities. Precondition: no NaN.
void find_top(std::span<const float> logits, std::size_t count, std::vector<Candidate>& out);

/// log(sum(exp(logits))), in double. -infinity for no logits; NaN if any logit is.
double log_sum_exp(std::span<const float> logits);

} // namespace etna::sampling
