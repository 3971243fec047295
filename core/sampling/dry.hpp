#pragma once

#include "core/sampling/breakers.hpp"
#include "core/sampling/history.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace etna::sampling {

/// "Don't repeat yourself": lowers the logits of tokens that would continue a repetition. Let h be the last
/// dry_window_tokens of prompt and output, and b the number of its tokens after the last sequence breaker
/// (all of them if there is none). The repetition that token t would continue has the length m(t): the
/// largest L from 1 to b for which the last L tokens of h also occur earlier in h, followed by t; they may
/// overlap. If m(t) >= dry_allowed_length and t is not itself a breaker,
///
///     logit[t] -= dry_multiplier * dry_base ^ (m(t) - dry_allowed_length)
///
/// Logits are [vocabulary], changed in place, in double, rounded to float once. `longest` is scratch
/// [vocabulary] that is zero before and after, `lengths` is scratch. Time is linear in h. Source: p-e-w,
/// text-generation-webui pull request 5677; breakers of several tokens as in koboldcpp and llama.cpp.
void apply_dry(std::span<float> logits, const Parameters& parameters, const SequenceBreakers& breakers,
               const History& history, std::span<uint32_t> longest, std::vector<uint32_t>& lengths);

} // namespace etna::sampling
