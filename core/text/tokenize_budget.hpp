#pragma once

#include "core/base/cancel.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace etna::text {

/// Budget for tokenizing one text. Polls for cancellation only every few thousand steps, because a poll may
/// cost as much, and reserves memory only beyond a small allowance. Not thread-safe.
class TokenizeBudget {
public:
    using ReserveMemory = std::function<bool(std::size_t bytes)>;

    /// Borrows the callbacks; null and empty ones impose no limit.
    explicit TokenizeBudget(const CancelPoll& is_cancelled, const ReserveMemory* reserve_memory = nullptr)
        : is_cancelled_(is_cancelled ? &is_cancelled : nullptr),
          reserve_memory_(reserve_memory != nullptr && *reserve_memory ? reserve_memory : nullptr) {}

    /// Call at every step, or with the number of steps that the next piece of work takes. Stays true once it
    /// is true.
    bool is_over(uint64_t steps = 1) {
        steps_ += steps;
        if (is_cancelled_ == nullptr || is_over_ || steps_ < next_poll_)
            return is_over_;
        next_poll_ = steps_ + steps_per_poll;
        is_over_ = (*is_cancelled_)();
        return is_over_;
    }

    /// Returns whether the work on one word may use `bytes` of memory; a grant for one word also covers later
    /// words.
    bool may_work_in(std::size_t bytes) {
        if (reserve_memory_ == nullptr || bytes <= granted_)
            return true;
        if (!(*reserve_memory_)(bytes - granted_))
            return false;
        granted_ = bytes;
        return true;
    }

    /// Makes room for `count` more elements of a result (a vector or a string), which grows by doubling.
    /// Returns false if the memory is refused.
    template <class Buffer>
    bool may_extend(Buffer& buffer, std::size_t count) {
        if (count <= buffer.capacity() - buffer.size())
            return true;
        const std::size_t capacity = std::max(buffer.size() + count, 2 * buffer.capacity());
        const std::size_t bytes = capacity * sizeof(typename Buffer::value_type);
        result_bytes_ += bytes;
        if (reserve_memory_ != nullptr && result_bytes_ > free_bytes && !(*reserve_memory_)(bytes))
            return false;
        buffer.reserve(capacity);
        return true;
    }

    /// The error after may_work_in() or may_extend() returned false.
    static Error no_memory() { return {ErrorKind::out_of_memory, "no memory is left to tokenize the text"}; }

    /// The error after is_over() returned true.
    static Error error() { return {ErrorKind::cancelled, "tokenization was cancelled"}; }

private:
    static constexpr uint64_t steps_per_poll = 4096; ///< well below a millisecond of merging or searching

    static constexpr std::size_t free_bytes = 256 * 1024; ///< used without reserve_memory

    const CancelPoll* is_cancelled_; ///< null: never cancelled
    const ReserveMemory* reserve_memory_;
    std::size_t granted_ = free_bytes;
    std::size_t result_bytes_ = 0; ///< allocated by may_extend()
    uint64_t steps_ = 0;
    uint64_t next_poll_ = steps_per_poll;
    bool is_over_ = false;
};

} // namespace etna::text
