#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/sampling/breakers.hpp"
#include "core/sampling/history.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace etna::sampling {

// Step 1 of parameters.hpp. Each function changes logits [vocabulary] in place, in double, rounded to float
// once, and clamped, so that a finite logit stays finite.

/// A value added to a token's logit; -infinity bans the token. Biases of one token add up.
struct LogitBias {
    TokenId token = 0;
    float bias = 0; ///< -infinity, or within [-max, max] of float
};

/// Errors: invalid_argument (a token outside the vocabulary, a bias that is NaN or +infinity).
Status check(std::span<const LogitBias> biases, uint32_t vocabulary);

/// logit[token] += bias. Precondition: check(biases, logits.size()). Source: OpenAI API reference,
/// `logit_bias`.
void add_logit_bias(std::span<float> logits, std::span<const LogitBias> biases);

// Penalties. `counts` is scratch [vocabulary] that is zero before and after. Tokens outside the vocabulary
// are ignored. Time is linear in the window. Pure otherwise.

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

/// "Don't repeat yourself": lowers the logits of tokens that would continue a repetition. Let h be the last
/// dry_window_tokens of prompt and output, and b the number of its tokens after the last sequence breaker
/// (all of them if there is none). The repetition that token t would continue has the length m(t): the
/// largest L from 1 to b for which the last L tokens of h also occur earlier in h, followed by t; they may
/// overlap. If m(t) >= dry_allowed_length and t is not itself a breaker,
///
///     logit[t] -= dry_multiplier * dry_base ^ (m(t) - dry_allowed_length)
///
/// `lengths_max` is scratch [vocabulary] that is zero before and after, `lengths` is scratch. Time is linear
/// in h. Source: p-e-w, text-generation-webui pull request 5677; breakers of several tokens as in koboldcpp
/// and llama.cpp.
void apply_dry(std::span<float> logits, const Parameters& parameters, const SequenceBreakers& breakers,
               const History& history, std::span<uint32_t> lengths_max, std::vector<uint32_t>& lengths);

} // namespace etna::sampling
