#pragma once

#include "core/base/result.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include <volk.h>

namespace etna::vk {

/// One timeline semaphore that counts the queue's submissions, and what is to be released when the device has
/// reached a count. Thread-safe, except that starting and cancelling submissions belong to one thread.
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
    /// Everything submitted, when the device is lost: nothing runs any more.
    [[nodiscard]] uint64_t completed() const;

    /// Value that the submission which is about to happen will signal. It counts as submitted from now on, so
    /// that what another thread destroys meanwhile is kept until then.
    uint64_t begin_submission() { return ++submitted_; }
    /// That submission did not happen.
    void cancel_submission() { --submitted_; }

    /// Blocks until the device has reached `value`. Errors: device_lost, invalid_argument (never submitted).
    Status wait(uint64_t value) const;

    /// Runs `release` when everything submitted so far has completed: at once, or in a later collect().
    void retire(std::function<void()> release);
    /// Runs what has become due.
    void collect();
    /// Runs everything that is still waiting; the device must be idle.
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
