#pragma once

#include "core/engine/request.hpp"
#include "tests/support/fake_executor.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace etna::test {

/// What a request must give.
struct Expected {
    std::vector<engine::TokenEvent> scores; ///< of the prompt, where they are wanted
    std::vector<TokenId> tokens;
    engine::FinishReason reason = engine::FinishReason::length;
};

/// Continues a prompt one token at a time, alone, without pages, batches or slots: what every schedule must
/// equal.
Expected simulate(const FakeOptions& options, const engine::Request& request);

/// What the model says after a request's prompt and `generated`.
std::vector<float> logits_after(const FakeOptions& options, const engine::Request& request,
                                std::span<const TokenId> generated);

} // namespace etna::test
