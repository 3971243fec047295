#pragma once

#include "core/engine/request.hpp"
#include "tests/support/fake_executor.hpp"

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace etna::test {

/// The expected result of a request.
struct Expected {
    std::vector<engine::TokenEvent> scores; ///< of the prompt, if requested
    std::vector<TokenId> tokens;
    engine::FinishReason reason = engine::FinishReason::length;
};

/// Continues a prompt one token at a time, alone, without pages, batches or slots; every schedule must give
/// the same result.
Expected simulate(const FakeOptions& options, const engine::Request& request);

/// Returns the logits after a request's prompt and `generated`.
std::vector<float> logits_after(const FakeOptions& options, const engine::Request& request,
                                std::span<const TokenId> generated);

/// Returns the hidden states of a request, [rows, width].
std::vector<float> hidden_states(const FakeOptions& options, const engine::Request& request);

using Random = std::mt19937;

/// Returns a random number in [min, max].
uint32_t pick(Random& random, uint32_t min, uint32_t max);

/// Adds a cache group with a random window and few pages in two of three cases; in one of them it is the only
/// group. Adds recurrent layers with few slots in one of two cases.
void add_random_state(Random& random, engine::Limits& limits);

} // namespace etna::test
