#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <span>

namespace etna::sampling {

struct Candidate {
    TokenId token = 0;
    float logit = 0;
};

struct Choice {
    TokenId token = 0;
    float logit = 0; ///< of `token`, before any filter
};

/// Errors: invalid_argument, naming the parameter and its range.
Status check(const Parameters& parameters);

/// Chooses one token from all logits of a row, [vocabulary], as parameters.hpp defines; the draw is
/// uniform(parameters.seed, position). Sums run in double, over falling logits, smaller id first among
/// equals. Pure. Precondition: check(parameters). Errors: internal (no logits, NaN, +infinity, or all
/// -infinity).
Result<Choice> choose(const Parameters& parameters, std::span<const float> logits, uint32_t position);

/// The same from candidates that already stand in falling order of logit, smaller id first among equals: as
/// if all other tokens had probability 0. Equal to choosing from all logits when 1 <= top_k <=
/// candidates.size().
Result<Choice> choose(const Parameters& parameters, std::span<const Candidate> candidates, uint32_t position);

/// log(sum(exp(logits))), in double. -infinity for no logits; NaN if any is.
double log_sum_exp(std::span<const float> logits);

} // namespace etna::sampling
