#pragma once

#include "core/engine/speculation.hpp"

#include <cstdint>

namespace etna::engine {

/// Decides how many tokens of a sequence one source of drafts is asked for: more while they are accepted,
/// fewer while they are not, and none for a while when they have cost more than they brought. A draft that is
/// accepted saves a step of plain decoding; every draft costs its part of one. Pure.
///
/// Each source has its own, lest one that is always wrong pauses one that is right. With drafts that are
/// always wrong, 512 tokens see at most 15 rejected rows and passes of the draft model together, over all
/// sources of a sequence: each may lose its part of that.
class DraftGain {
public:
    /// `tokens_max`: drafts of one step; 0: there is no such source. `sources`: how many the sequence has.
    explicit DraftGain(uint32_t tokens_max, uint32_t sources = 1);

    /// How many tokens to draft in the next step; 0: none.
    [[nodiscard]] uint32_t length() const { return pause_ > 0 ? 0 : length_; }

    /// So many tokens came without drafts of this source.
    void skip(uint32_t tokens = 1);

    /// A step of `drafted` tokens, at least 1, has been verified. `by_model`: the draft model made them.
    void note(uint32_t drafted, uint32_t accepted, bool by_model, const DraftCosts& costs);

private:
    uint32_t tokens_max_;
    double most_lost_;     ///< steps, before a pause
    uint32_t first_pause_; ///< tokens
    uint32_t length_;
    double balance_ = 0; ///< steps saved, less steps spent
    uint32_t pause_ = 0; ///< tokens to come without drafts
    uint32_t next_pause_;
};

} // namespace etna::engine
