#include "core/grammar/step_budget.hpp"

#include <algorithm>

namespace etna::grammar {
namespace {

/// Steps between polls of `stop`.
constexpr uint64_t steps_between_polls = 5'000;

} // namespace

void StepBudget::set(uint64_t steps, const Stop* stop) {
    stop_ = stop != nullptr && *stop ? stop : nullptr;
    is_stopped_ = false;
    until_poll_ = stop_ == nullptr ? steps : std::min(steps, steps_between_polls);
    after_poll_ = steps - until_poll_;
}

/// Charges steps beyond the next poll of `stop_`, and polls it.
void StepBudget::poll(uint64_t count) {
    if (is_stopped_)
        return;
    const bool is_time = until_poll_ > 0;
    count -= until_poll_;
    after_poll_ -= std::min(count, after_poll_);
    is_stopped_ = is_time && stop_ != nullptr && (*stop_)();
    until_poll_ = is_stopped_ ? 0 : std::min(after_poll_, steps_between_polls);
    after_poll_ -= until_poll_;
}

} // namespace etna::grammar
