#pragma once

#include <cstdint>

namespace etna::engine {

/// Limits the prefill rows of a step so that it takes about a target time on this device: a request that
/// arrives waits for the steps in flight, and rows at the end of a long prompt cost many times those at its
/// start. Starts with few rows and follows the measured time per row. Not thread-safe.
class PrefillBudget {
public:
    /// `target_ms`: 0 for no limit but `batch_rows_max`.
    PrefillBudget(double target_ms, uint32_t batch_rows_max);

    /// Records that a step with prefill rows took `ms`; `rows` counts its rows of all kinds. Steps that are
    /// far from filling the budget are ignored, because the fixed cost of a step outweighs their rows.
    void record_step(uint32_t prefill_rows, uint32_t rows, double ms);

    /// Records that a step without prefill rows took `ms`. A prefill step may take a few times as long,
    /// whatever the target, because on a slow device the fixed cost would dominate shorter ones.
    void record_decode(double ms) { decode_ms_ = ms; }

    /// Prefill rows that the next step may have.
    [[nodiscard]] uint32_t rows() const { return rows_; }

private:
    double target_ms_;
    uint32_t rows_max_;
    uint32_t rows_;
    double row_ms_ = 0; ///< of the last step that was not ignored
    double decode_ms_ = 0;
};

} // namespace etna::engine
