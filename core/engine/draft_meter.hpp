#pragma once

#include "core/engine/batch.hpp"
#include "core/engine/speculation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace etna::engine {

/// Measures the cost of drafts on this device from step times. Steps with prefill rows do not count.
class DraftMeter {
public:
    /// Records that a step without prefill rows took `ms`; `drafts` of its rows were for drafts.
    void note_step(uint32_t drafts, double ms);

    /// Records that the draft model made `tokens` in `ms`, and computed nothing else but the newest tokens.
    void note_drafts(uint32_t tokens, double ms);

    /// The measured costs; a guess before the first measurement.
    [[nodiscard]] DraftCosts costs() const;

private:
    /// The most recent samples. Their median is robust to pauses of the machine and to results that are
    /// fetched late.
    class Recent {
    public:
        void add(double sample);
        [[nodiscard]] bool is_known() const { return count_ > 0; }
        /// The lower of the two middle samples if their number is even. Precondition: is_known().
        [[nodiscard]] double median() const;

    private:
        std::array<double, 15> samples_{}; ///< ring buffer, large enough to outvote some outliers
        std::size_t count_ = 0;
        std::size_t next_ = 0;
    };

    Recent plain_ms_;   ///< a step without drafts
    Recent draft_ms_;   ///< a token of the draft model
    Recent drafted_ms_; ///< a step with drafts
    Recent drafts_;     ///< drafts in such a step
};

} // namespace etna::engine
