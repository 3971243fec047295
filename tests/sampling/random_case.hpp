#pragma once

#include "core/sampling/sampler.hpp"
#include "tests/reference/sampling_changes.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace etna::test {

/// One row to choose from, with everything that the choice depends on.
struct SamplingCase {
    std::vector<float> logits;
    sampling::Parameters parameters;
    reference::Past past;
    uint32_t position = 0;

    [[nodiscard]] reference::Vector exact_logits() const { return {logits.begin(), logits.end()}; }
    [[nodiscard]] std::string describe() const;
};

/// 1 to `most` logits: continuous, or whole numbers with ties; now and then some of -infinity, never all.
std::vector<float> random_logits(std::mt19937& generator, std::size_t most);

/// `length` tokens below `vocabulary`; few different ones, so that they repeat.
std::vector<TokenId> random_tokens(std::mt19937& generator, std::size_t length, uint32_t vocabulary);

/// A case whose penalties are multiples of 1/4, so that whole logits keep their ties exactly. Every parameter
/// is neutral now and then.
SamplingCase random_case(std::mt19937& generator);

/// The past as the code under test takes it. Borrows `tokens`, which it fills, `past` and `breakers`.
sampling::Context context_of(const reference::Past& past, std::vector<TokenId>& tokens,
                             const sampling::SequenceBreakers& breakers);

} // namespace etna::test
