#pragma once

#include "core/sampling/sampler.hpp"
#include "tests/reference/sampling_changes.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace etna::test {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// One row to sample from, with everything that the token depends on.
struct SamplingCase {
    std::vector<float> logits;
    sampling::Parameters parameters;
    reference::Past past;
    uint32_t position = 0;

    [[nodiscard]] reference::Vector exact_logits() const { return {logits.begin(), logits.end()}; }
    [[nodiscard]] std::string describe() const;
};

/// 1 to `count_max` logits: continuous, or integers with ties; sometimes some of -infinity, never all.
std::vector<float> random_logits(std::mt19937& generator, std::size_t count_max);

/// Returns `length` tokens below `vocabulary`, of few distinct ones, so that they repeat.
std::vector<TokenId> random_tokens(std::mt19937& generator, std::size_t length, uint32_t vocabulary);

/// Returns a case whose penalties are multiples of 1/4, so that ties of integer logits stay exact. Every
/// parameter is sometimes neutral.
SamplingCase random_case(std::mt19937& generator);

/// Converts a past to the sampler's context. Fills `tokens`; borrows it, `past` and `breakers`.
sampling::Context context_of(const reference::Past& past, std::vector<TokenId>& tokens,
                             const sampling::SequenceBreakers& breakers);

} // namespace etna::test
