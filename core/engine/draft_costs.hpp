#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace etna::engine {

/// A source of drafts.
enum class DraftSource : uint8_t {
    lookup, ///< the text or a prediction
    model,  ///< the draft model
    head,   ///< the model's own draft head
};

/// Cost of a drafted token, in plain decode steps.
struct DraftCosts {
    float draft = 0; ///< to generate it with the draft model
    float row = 0;   ///< to verify it; in steps that run the draft head, with the head
};

/// Controls how many tokens one draft source drafts for a sequence: more while they are accepted, fewer while
/// they are rejected, and none for a while once they have cost more than they saved. An accepted draft saves
/// a plain decode step; every draft costs a fraction of one. Pure.
///
/// Each source has its own, so that a source that is always wrong does not pause one that is right. If all
/// drafts are wrong, 512 tokens cost at most 15 rejected rows and passes of the draft model together, over
/// all sources of a sequence: each source may lose its part of that.
class DraftLengthControl {
public:
    /// `tokens_max`: maximum drafts of one step; 0: the source does not exist. `sources`: number of sources
    /// of the sequence.
    explicit DraftLengthControl(uint32_t tokens_max, uint32_t sources = 1);

    /// Number of tokens to draft in the next step; 0: none.
    [[nodiscard]] uint32_t length() const { return pause_ > 0 ? 0 : length_; }

    /// Records that `tokens` tokens were generated without drafts of this source.
    void skip(uint32_t tokens = 1);

    /// Records that a step with `drafted` tokens, at least 1, was verified.
    void record(uint32_t drafted, uint32_t accepted, DraftSource source, const DraftCosts& costs);

private:
    uint32_t tokens_max_;
    double balance_min_;   ///< balance in steps below which drafting pauses
    uint32_t first_pause_; ///< tokens
    uint32_t length_;
    double balance_ = 0; ///< steps saved minus steps spent
    uint32_t pause_ = 0; ///< remaining tokens without drafts
    uint32_t next_pause_;
};

/// Estimates the cost of drafts on this device from measured step times. Steps with prefill rows do not
/// count.
class DraftCostEstimate {
public:
    /// Records that a step without prefill rows took `ms`; `drafts` of its rows were for drafts. Steps that
    /// draft for the next one alone are neither plain nor drafted, and are not recorded.
    void record_step(uint32_t drafts, double ms);

    /// Records that the draft model generated `tokens` in `ms`, and computed nothing else except the newest
    /// tokens.
    void record_drafts(uint32_t tokens, double ms);

    /// Returns the measured costs; defaults before the first measurement.
    [[nodiscard]] DraftCosts costs() const;

private:
    /// The most recent samples. Their median is robust to pauses of the machine and to results that are
    /// fetched late.
    class Recent {
    public:
        void add(double sample);
        [[nodiscard]] bool has_samples() const { return count_ > 0; }
        /// The lower of the two middle samples if their number is even. Precondition: has_samples().
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
