#include "core/engine/prefill_budget.hpp"

#include <algorithm>

namespace etna::engine {
namespace {

constexpr uint32_t rows_min = 16; // fewer would not fill a tile of the matrix kernels
constexpr double decodes_per_prefill = 4;
constexpr uint32_t first_rows = 64; // before the first measurement

} // namespace

PrefillBudget::PrefillBudget(double target_ms, uint32_t batch_rows_max)
    : target_ms_(target_ms), rows_max_(batch_rows_max),
      rows_(target_ms > 0 ? std::min(first_rows, batch_rows_max) : batch_rows_max) {}

void PrefillBudget::record_step(uint32_t prefill_rows, uint32_t rows, double ms) {
    if (target_ms_ <= 0 || 2 * prefill_rows < rows_)
        return;
    const double row_ms = ms / rows;
    const double slower_ms = std::max(row_ms, row_ms_); // prompts of different lengths alternate
    row_ms_ = row_ms;
    const double target_ms = std::max(target_ms_, decodes_per_prefill * decode_ms_);
    const double fitting = slower_ms > 0 ? target_ms / slower_ms : rows_max_;
    double next = 0;
    if (ms > target_ms) {
        next = std::clamp(fitting, std::min<double>(rows_min, rows_), double(rows_));
    } else {
        const uint32_t limit =
            prefill_rows < rows_ ? rows_ : 2 * rows_; // one quick step is not representative
        next = std::clamp(fitting, double(rows_), double(limit));
    }
    rows_ = std::min(static_cast<uint32_t>(next), rows_max_);
}

} // namespace etna::engine
