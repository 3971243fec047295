#pragma once

#include "core/sampling/history.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <span>

namespace etna::sampling {

// Penalties change logits [vocabulary] in place, in double, rounded to float once each. `counts` is scratch
// [vocabulary] that is zero before and after. Tokens outside the vocabulary are ignored. Time is linear in
// the window. Pure otherwise.

/// For each token in the last repetition_window_tokens of prompt and output: a logit above 0 is divided by
/// the penalty, any other is multiplied by it. Source: Keskar et al., "CTRL", arXiv 1909.05858, section 4.1,
/// with the distinction by sign of its reference code.
void apply_repetition_penalty(std::span<float> logits, const Parameters& parameters, const History& history,
                              std::span<uint32_t> counts);

/// logit -= frequency_penalty * c_f(token) + (c_p(token) > 0 ? presence_penalty : 0), where c_f and c_p count
/// the token in the output's last frequency_window_tokens and presence_window_tokens. Source: OpenAI API
/// reference, "Frequency and presence penalties".
void apply_frequency_penalty(std::span<float> logits, const Parameters& parameters, const History& history,
                             std::span<uint32_t> counts);
void apply_presence_penalty(std::span<float> logits, const Parameters& parameters, const History& history,
                            std::span<uint32_t> counts);

} // namespace etna::sampling
