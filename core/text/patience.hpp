#pragma once

#include "core/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace etna::text {

/// Budget for tokenizing one text. Polls for cancellation only every few thousand steps, because a poll may
/// cost as much, and claims memory only beyond a small allowance. Not thread-safe.
class TokenizeBudget {
public:
    using CancelPoll = std::function<bool()>;
    using ReserveMemory = std::function<bool(std::size_t bytes)>;

    /// Borrows the callbacks; null and empty ones impose no limit.
    explicit TokenizeBudget(const CancelPoll* is_cancelled, const ReserveMemory* reserve_memory = nullptr)
        : stop_requested_(is_cancelled != nullptr && *is_cancelled ? is_cancelled : nullptr),
          claim_memory_(reserve_memory != nullptr && *reserve_memory ? reserve_memory : nullptr) {}

    /// Call at every step. Stays true once it is true.
    bool is_over() {
        if (stop_requested_ != nullptr && !is_over_ && ++steps_ % steps_between == 0)
            is_over_ = (*stop_requested_)();
        return is_over_;
    }

    /// Returns whether `bytes` of memory may be used for the work on one word; a grant for one word also
    /// covers later ones.
    bool may_work_in(std::size_t bytes) {
        if (claim_memory_ == nullptr || bytes <= granted_)
            return true;
        if (!(*claim_memory_)(bytes - granted_))
            return false;
        granted_ = bytes;
        return true;
    }

    /// The error for a refused claim.
    static Error no_memory() {
        return {ErrorKind::out_of_memory, "there is no memory to cut the text into tokens"};
    }

    /// The error after is_over() returned true.
    static Error error() { return {ErrorKind::cancelled, "the text's tokens are not wanted any more"}; }

private:
    static constexpr uint64_t steps_between = 4096; ///< well below a millisecond of merging or searching

    static constexpr std::size_t unasked_bytes = 256 * 1024;

    const CancelPoll* stop_requested_;
    const ReserveMemory* claim_memory_;
    std::size_t granted_ = unasked_bytes;
    uint64_t steps_ = 0;
    bool is_over_ = false;
};

} // namespace etna::text
