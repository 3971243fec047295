#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace etna::engine {

class DraftTexts;

/// How a sequence's next tokens are drafted, to be verified together in one step. The output is that of plain
/// decoding whatever the drafts: every row draws its own token, and the rows after the first mismatching
/// draft are dropped. Useless drafts only cost time, and are paused; see draft_gain.hpp.
struct Speculation {
    uint32_t tokens_max = 5; ///< maximum drafts of one step, 1..drafts_max
    /// Search the text for an earlier occurrence of its last tokens, up to this many, and draft the tokens
    /// that followed; 0: do not.
    uint32_t lookup_ngram_max = 0;
    std::vector<TokenId> prediction = {}; ///< the expected answer; drafted while the text follows it
    bool uses_model = false; ///< use the draft model, if the other sources have no draft or are paused
    /// The draft model stops at a token that it finds less likely than this, [0, 1]; empty: it does not.
    std::optional<float> confidence_min = {};
    /// The texts to look up drafts in, made of the prompt, the prediction and lookup_ngram_max by
    /// make_draft_texts(); the engine makes them if null.
    std::shared_ptr<const DraftTexts> texts = {};
};

constexpr uint32_t drafts_max = 32;
constexpr uint32_t ngram_max = 16;

/// Errors: invalid_argument, naming the parameter and its range.
Status check(const Speculation& speculation, uint32_t vocabulary);

/// Cost of a drafted token, in plain decode steps.
struct DraftCosts {
    float draft = 0; ///< to generate it with the draft model
    float row = 0;   ///< to verify it
};

} // namespace etna::engine
