#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace etna::server {

/// Returns memory freed by requests to the system, which the allocator does on its own for large blocks only:
/// periodically while much has been freed, and the rest when the server is idle.
class MemoryTidy {
public:
    using Clock = std::chrono::steady_clock;

    /// Records that a request was answered. Thread-safe.
    void note_answer() { has_answered_ = true; }

    /// Call several times a second, from one thread. `freed`: bytes that requests freed since the last call;
    /// `is_busy`: whether requests are running. May take some milliseconds.
    void tidy(std::size_t freed, bool is_busy);

private:
    std::atomic<bool> has_answered_{false}; ///< since the last trim
    std::size_t freed_ = 0;                 ///< since the last trim
    Clock::time_point tidied_ = Clock::now();
    Clock::time_point busy_ = Clock::now(); ///< when a request last ran
};

} // namespace etna::server
