#pragma once

#include "core/sampling/logit_processors.hpp"
#include "core/sampling/parameters.hpp"
#include "tests/reference/operations.hpp"

#include <cstdint>
#include <vector>

namespace etna::reference {

/// All that the first step of core/sampling/parameters.hpp depends on, in addition to logits and parameters.
struct Past {
    std::vector<TokenId> prompt = {};
    std::vector<TokenId> output = {};
    std::vector<sampling::LogitBias> biases = {};
    std::vector<std::vector<TokenId>> breakers = {};
};

/// Logits after bias, repetition penalty, frequency and presence penalty and DRY, token by token by
/// their definitions. Finite values are clamped to the range of float after each change.
Vector changed_logits(View logits, const sampling::Parameters& parameters, const Past& past);

/// m(token) of core/sampling/logit_processors.hpp: the length of the repetition that the token would
/// continue, 0 for none. `tokens` is the window.
uint32_t repetition_length(const std::vector<TokenId>& tokens,
                           const std::vector<std::vector<TokenId>>& breakers, TokenId token);

} // namespace etna::reference
