#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace etna::grammar {

/// Steps of work that are left, each of about 10 ns. Unlimited at first. Not thread-safe.
class StepBudget {
public:
    /// Polled several times per millisecond; returns true to stop.
    using Stop = std::function<bool()>;

    /// `stop`: spends the budget early by returning true; borrowed until the next call, may be null or empty.
    void set(uint64_t steps, const Stop* stop);

    [[nodiscard]] uint64_t left() const { return until_poll_ + after_poll_; }
    [[nodiscard]] bool is_spent() const { return until_poll_ == 0; }
    /// Whether `stop` spent the budget.
    [[nodiscard]] bool is_stopped() const { return is_stopped_; }

    void charge(std::size_t count) {
        if (count < until_poll_) {
            until_poll_ -= count;
        } else {
            poll(count);
        }
    }

private:
    void poll(uint64_t count);

    uint64_t until_poll_ = UINT64_MAX; ///< left before the next poll of `stop_`; 0: the budget is spent
    uint64_t after_poll_ = 0;          ///< left after that poll
    const Stop* stop_ = nullptr;       ///< null: never stopped
    bool is_stopped_ = false;
};

} // namespace etna::grammar
