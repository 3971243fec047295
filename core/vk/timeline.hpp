#pragma once

#include "core/base/result.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include <volk.h>

namespace etna::vk {

/// A timeline semaphore that counts queue submissions, and the deferred releases due at each value.
/// Thread-safe, except that starting and cancelling submissions belong to one thread.
class Timeline {
public:
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
    uint64_t begin_submission() { return ++submitted_; }
    /// Cancels that submission, which did not happen.
    void cancel_submission() { --submitted_; }

    /// Blocks until the device has reached `value`. Errors: device_lost, invalid_argument (never submitted).
    Status wait(uint64_t value) const;

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
    void release_up_to(uint64_t value);

    VkDevice device_ = VK_NULL_HANDLE;
    const VolkDeviceTable* functions_ = nullptr;
    VkSemaphore semaphore_ = VK_NULL_HANDLE;
    std::atomic<uint64_t> submitted_ = 0;
    mutable std::mutex mutex_;
    std::deque<Retired> retired_;
};

} // namespace etna::vk
