#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace etna::server {

/// A byte budget with an upper bound, shared by many reservations. Thread-safe.
class MemoryBudget {
public:
    explicit MemoryBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    /// Returns false, and changes nothing, if the total would exceed the bound.
    bool take(std::size_t bytes) {
        if (bytes > bytes_max_)
            return false;
        if (held_.fetch_add(bytes) <= bytes_max_ - bytes)
            return true;
        held_ -= bytes;
        return false;
    }

    void release(std::size_t bytes) {
        held_ -= bytes;
        freed_ += bytes;
    }

    /// Whether a single reservation of this size is within the bound.
    [[nodiscard]] bool fits(std::size_t bytes) const { return bytes <= bytes_max_; }
    [[nodiscard]] std::size_t held() const { return held_; }

    /// Bytes released since the last call.
    [[nodiscard]] std::size_t take_freed() { return freed_.exchange(0); }

private:
    const std::size_t bytes_max_;
    std::atomic<std::size_t> held_{0};
    std::atomic<std::size_t> freed_{0};
};

/// A part of a MemoryBudget, released on destruction. Not thread-safe.
class MemoryReservation {
public:
    static constexpr std::size_t uncounted_bytes = 64 * 1024;

    /// Starts empty.
    explicit MemoryReservation(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}
    MemoryReservation(MemoryReservation&& other) noexcept
        : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)),
          is_too_large_(other.is_too_large_) {}
    MemoryReservation& operator=(MemoryReservation&& other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(bytes_, other.bytes_);
        std::swap(is_too_large_, other.is_too_large_);
        return *this;
    }
    MemoryReservation(const MemoryReservation&) = delete;
    MemoryReservation& operator=(const MemoryReservation&) = delete;
    ~MemoryReservation() {
        if (bytes_ > 0)
            budget_->release(bytes_);
    }

    /// Grows by `bytes`. Returns false, and changes nothing, if the budget would be exceeded.
    bool grow_by(std::size_t bytes) {
        if (!budget_->take(bytes))
            return false;
        bytes_ += bytes;
        return true;
    }

    /// As grow_by(), for a request: the first `uncounted_bytes` of each call are free, so that small requests
    /// succeed whatever large ones hold.
    bool reserve(std::size_t bytes) {
        if (bytes <= uncounted_bytes)
            return true;
        is_too_large_ = !budget_->fits(bytes_ + (bytes - uncounted_bytes));
        return grow_by(bytes - uncounted_bytes);
    }

    /// Whether the last counted reserve() can never succeed: this request alone would exceed the budget.
    [[nodiscard]] bool is_too_large() const { return is_too_large_; }

    /// Shrinks to at most `bytes`.
    void shrink_to(std::size_t bytes) {
        if (bytes < bytes_)
            budget_->release(bytes_ - bytes);
        bytes_ = bytes < bytes_ ? bytes : bytes_;
    }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    std::shared_ptr<MemoryBudget> budget_;
    std::size_t bytes_ = 0;
    bool is_too_large_ = false;
};

/// Returns memory freed by requests to the system, which the allocator does on its own for large blocks only:
/// periodically while much has been freed, and the rest when the server is idle.
class HeapTrimmer {
public:
    using Clock = std::chrono::steady_clock;

    /// Records that a request has ended. Thread-safe.
    void note_request_end() { has_ended_ = true; }

    /// Call several times a second, from one thread. `freed_bytes`: freed by requests since the last call;
    /// `is_busy`: whether requests are running. May take some milliseconds.
    void trim_if_due(std::size_t freed_bytes, bool is_busy);

private:
    std::atomic<bool> has_ended_{false}; ///< a request has ended since the last trim
    std::size_t freed_bytes_ = 0;        ///< since the last trim
    Clock::time_point last_trim_ = Clock::now();
    Clock::time_point last_busy_ = Clock::now();
};

} // namespace etna::server
