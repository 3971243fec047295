#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"

#include <span>

namespace etna::sampling {

/// An addend for a token's logit; -infinity bans the token. Biases of one token add up.
struct LogitBias {
    TokenId token = 0;
    float bias = 0; ///< -infinity, or within [-max, max] of float
};

/// Errors: invalid_argument (a token outside the vocabulary, a bias that is NaN or +infinity).
Status check(std::span<const LogitBias> biases, uint32_t vocabulary);

/// logit[token] += bias, over logits [vocabulary]. Precondition: check(biases, logits.size()). Source: OpenAI
/// API reference, `logit_bias`.
void add_logit_bias(std::span<float> logits, std::span<const LogitBias> biases);

} // namespace etna::sampling
