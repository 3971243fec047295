#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace etna::engine {

class DraftTexts;

/// How a sequence's next tokens are drafted, to be verified together in one step. Whatever the drafts, the
/// tokens that come are those of plain decoding: every row draws its own, and the rows after the first draft
/// that differs are dropped. Drafts of no use make it slower at most, and are given up; see draft_gain.hpp.
struct Speculation {
    uint32_t tokens_max = 5; ///< drafts of one step, 1..drafts_max
    /// Look for the end of the text, up to so many tokens of it, further up, and draft what came then; 0: do
    /// not.
    uint32_t lookup_ngram_max = 0;
    std::vector<TokenId> prediction = {}; ///< what the answer may be; drafted where the text follows it
    bool uses_model = false; ///< ask the engine's draft model, where the others have no draft or are paused
    /// The draft model stops at a token that it finds less likely, [0, 1]; empty: it does not.
    std::optional<float> confidence_min = {};
    /// What is looked up, made of the prompt, the prediction and lookup_ngram_max by make_draft_texts(): the
    /// engine does that where it is null.
    std::shared_ptr<const DraftTexts> texts = {};
};

constexpr uint32_t drafts_max = 32;
constexpr uint32_t ngram_max = 16;

/// Errors: invalid_argument, naming the parameter and its range.
Status check(const Speculation& speculation, uint32_t vocabulary);

/// What a drafted token costs, in steps of plain decoding.
struct DraftCosts {
    float draft = 0; ///< to make it by the draft model
    float row = 0;   ///< to verify it
};

} // namespace etna::engine
