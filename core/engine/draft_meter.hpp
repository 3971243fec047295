#pragma once

#include "core/engine/batch.hpp"
#include "core/engine/speculation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace etna::engine {

/// Finds out what drafts cost on this device, from how long steps took. Steps with prompt rows say nothing.
class DraftMeter {
public:
    /// A step without prefill rows took `ms`; `drafts` of its rows were behind drafts.
    void note_step(uint32_t drafts, double ms);

    /// The draft model has made `tokens` in `ms`, and computed nothing else but what had just come.
    void note_drafts(uint32_t tokens, double ms);

    /// As far as it is known; a guess before.
    [[nodiscard]] DraftCosts costs() const;

private:
    /// What came last. Its middle stays where it is when the machine pauses, or a result is fetched late.
    class Recent {
    public:
        void add(double sample);
        [[nodiscard]] bool is_known() const { return count_ > 0; }
        /// The lower of the two in the middle, where there are two. Precondition: is_known().
        [[nodiscard]] double median() const;

    private:
        std::array<double, 15> samples_{}; ///< a ring: enough to outvote some that are out of place
        std::size_t count_ = 0;
        std::size_t next_ = 0;
    };

    Recent plain_ms_;   ///< a step without drafts
    Recent draft_ms_;   ///< a token of the draft model
    Recent drafted_ms_; ///< a step with drafts
    Recent drafts_;     ///< in such a step
};

} // namespace etna::engine
