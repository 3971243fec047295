#include "core/engine/prefill_budget.hpp"

#include <algorithm>

namespace etna::engine {
namespace {

constexpr uint32_t rows_min = 16;   // fewer would not fill a tile of the matrix kernels
constexpr uint32_t first_rows = 64; // before anything is measured

} // namespace

PrefillBudget::PrefillBudget(double target_ms, uint32_t rows_max)
    : target_ms_(target_ms), rows_max_(rows_max),
      rows_(target_ms > 0 ? std::min(first_rows, rows_max) : rows_max) {}

void PrefillBudget::note_step(uint32_t rows, double ms) {
    if (target_ms_ <= 0 || rows == 0)
        return;
    const double row_ms = ms / rows;
    const double slower_ms = std::max(row_ms, last_row_ms_); // prompts of different lengths take turns
    last_row_ms_ = row_ms;
    const double fitting = slower_ms > 0 ? target_ms_ / slower_ms : rows_max_;
    const double next = std::clamp(fitting, double{rows_min}, 2.0 * rows_); // one quick step is no proof
    rows_ = std::min(static_cast<uint32_t>(next), rows_max_);
}

} // namespace etna::engine
