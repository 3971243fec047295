#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace etna::server {

/// Gives memory that requests have let go of back to the system, which the allocator alone does of large
/// pieces only: now and then where it is much, and what is left when nobody is at work.
class MemoryTidy {
public:
    using Clock = std::chrono::steady_clock;

    /// Something has been answered. Thread-safe.
    void note_answer() { has_answered_ = true; }

    /// To be called some times a second, by one thread. `freed`: bytes that requests have let go of since the
    /// last call; `is_busy`: whether some are at work. May take some milliseconds.
    void tidy(std::size_t freed, bool is_busy);

private:
    std::atomic<bool> has_answered_{false}; ///< since the memory was given back
    std::size_t freed_ = 0;                 ///< since then
    Clock::time_point tidied_ = Clock::now();
    Clock::time_point busy_ = Clock::now(); ///< when somebody was at work last
};

} // namespace etna::server
