#pragma once

#include "core/base/result.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include <volk.h>

namespace etna::vk {

/// A timeline semaphore that counts the submissions of a queue, the device time of each, and the deferred
/// releases due at each value. The queue runs submissions in order, so one timeline serves every thread that
/// submits. Thread-safe, except that the queue's mutex guards the start and the cancellation of submissions.
class Timeline {
public:
    using Clock = std::chrono::steady_clock;
    /// Number of the newest submissions whose times are stored.
    static constexpr std::size_t timed_max = 64;

    Timeline() = default;
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;
    ~Timeline();

    /// Errors: out_of_memory. `functions` is borrowed.
    Status open(VkDevice device, const VolkDeviceTable& functions);

    [[nodiscard]] VkSemaphore semaphore() const { return semaphore_; }
    [[nodiscard]] uint64_t submitted() const { return submitted_; }
    /// The last submitted value if the device is lost: no submission is running.
    [[nodiscard]] uint64_t completed() const;

    /// Returns the value that the next submission will signal. It counts as submitted from this call on, so
    /// that objects which another thread destroys in between live until it completes.
    uint64_t begin_submission();
    /// Cancels that submission, which did not happen.
    void cancel_submission() { --submitted_; }

    /// Blocks until the device has reached `value`, and notes the completion of every earlier submission that
    /// no thread has noted. Errors: device_lost, invalid_argument (never submitted).
    Status wait(uint64_t value);

    /// Returns the time that the device spent on a submission that was waited for: from its start, or the
    /// completion of the submission before if that was later. 0 beyond the newest timed_max submissions.
    [[nodiscard]] Clock::duration busy(uint64_t value) const;

    /// Runs `release` when all earlier submissions have completed: at once, or in a later collect().
    void retire(std::function<void()> release);
    /// Runs the releases that are due.
    void collect();
    /// Runs all pending releases; the device must be idle.
    void release_all();
    [[nodiscard]] bool has_retired() const;

private:
    struct Retired {
        uint64_t value = 0;
        std::function<void()> release;
    };
    struct Submission {
        uint64_t value = 0;
        Clock::time_point submitted;
        Clock::duration busy{0}; ///< 0 until the completion is noted
    };
    void release_up_to(uint64_t value);
    void note_completed(uint64_t value);
    [[nodiscard]] uint64_t noted() const;

    VkDevice device_ = VK_NULL_HANDLE;
    const VolkDeviceTable* functions_ = nullptr;
    VkSemaphore semaphore_ = VK_NULL_HANDLE;
    std::atomic<uint64_t> submitted_ = 0;
    mutable std::mutex mutex_; ///< guards the members below
    std::deque<Retired> retired_;
    std::array<Submission, timed_max> submissions_; ///< at value % timed_max
    uint64_t noted_ = 0;                            ///< newest submission whose completion is noted
    Clock::time_point noted_at_;
};

} // namespace etna::vk
