#pragma once

#include "core/engine/batch.hpp"
#include "core/engine/speculation.hpp"

#include <cstdint>

namespace etna::engine {

/// Finds out what drafts cost on this device, from how long steps took. Steps with prompt rows say nothing.
class DraftMeter {
public:
    /// A step of so many rows that tell a token was done after `ms`; `drafts` of them were behind drafts.
    void note_step(uint32_t rows, uint32_t drafts, double ms);

    /// The draft model has made `tokens` in `ms`.
    void note_drafts(uint32_t tokens, double ms);

    /// As far as it is known; a guess before.
    [[nodiscard]] DraftCosts costs() const;

private:
    /// A mean that forgets.
    struct Mean {
        double value = 0;
        bool is_known = false;
        void add(double sample);
    };

    Mean plain_ms_;   ///< a step without drafts
    Mean draft_ms_;   ///< a token of the draft model
    Mean drafted_ms_; ///< a step with drafts
    Mean drafts_;     ///< in such a step
};

} // namespace etna::engine
