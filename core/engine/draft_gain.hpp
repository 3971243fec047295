#pragma once

#include "core/engine/speculation.hpp"

#include <cstdint>

namespace etna::engine {

/// Controls how many tokens one draft source drafts for a sequence: more while they are accepted, fewer while
/// they are rejected, and none for a while once they have cost more than they saved. An accepted draft saves
/// a plain decode step; every draft costs a fraction of one. Pure.
///
/// Each source has its own, so that one that is always wrong does not pause one that is right. With drafts
/// that are always wrong, 512 tokens see at most 15 rejected rows and passes of the draft model together,
/// over all sources of a sequence: each may lose its part of that.
class DraftGain {
public:
    /// `tokens_max`: maximum drafts of one step; 0: the source does not exist. `sources`: number of sources
    /// of the sequence.
    explicit DraftGain(uint32_t tokens_max, uint32_t sources = 1);

    /// Number of tokens to draft in the next step; 0: none.
    [[nodiscard]] uint32_t length() const { return pause_ > 0 ? 0 : length_; }

    /// Records that `tokens` tokens were generated without drafts of this source.
    void skip(uint32_t tokens = 1);

    /// Records that a step with `drafted` tokens, at least 1, was verified. `by_model`: drafted by the draft
    /// model.
    void note(uint32_t drafted, uint32_t accepted, bool by_model, const DraftCosts& costs);

private:
    uint32_t tokens_max_;
    double most_lost_;     ///< balance in steps below which drafting pauses
    uint32_t first_pause_; ///< tokens
    uint32_t length_;
    double balance_ = 0; ///< steps saved minus steps spent
    uint32_t pause_ = 0; ///< remaining tokens without drafts
    uint32_t next_pause_;
};

} // namespace etna::engine
