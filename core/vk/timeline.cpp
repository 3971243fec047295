#include "core/vk/timeline.hpp"

#include "core/vk/error.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace etna::vk {

Timeline::~Timeline() {
    if (semaphore_ != VK_NULL_HANDLE)
        functions_->vkDestroySemaphore(device_, semaphore_, nullptr);
}

Status Timeline::open(VkDevice device, const VolkDeviceTable& functions) {
    device_ = device;
    functions_ = &functions;
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    return vulkan_status(functions.vkCreateSemaphore(device, &info, nullptr, &semaphore_),
                         "creating the timeline semaphore");
}

uint64_t Timeline::completed() const {
    uint64_t value = 0;
    const uint64_t submitted = submitted_;
    if (functions_->vkGetSemaphoreCounterValue(device_, semaphore_, &value) != VK_SUCCESS)
        return submitted;
    return value;
}

uint64_t Timeline::begin_submission() {
    const uint64_t value = ++submitted_;
    const std::scoped_lock lock(mutex_);
    submissions_[value % timed_max] = {.value = value, .submitted = Clock::now()};
    return value;
}

Status Timeline::wait(uint64_t value) {
    if (value > submitted_) {
        return invalid_argument(
            fmt::format("waiting for submission {}, but only {} were made", value, submitted_.load()));
    }
    VkSemaphoreWaitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore_;
    // Waking for each earlier submission gives each its own time, also if its thread notices it late.
    uint64_t next = std::min(noted() + 1, value);
    info.pValues = &next;
    for (; next <= value; ++next) {
        VkResult waited = VK_TIMEOUT;
        while (waited == VK_TIMEOUT)
            waited = functions_->vkWaitSemaphores(device_, &info, std::numeric_limits<uint64_t>::max());
        if (waited != VK_SUCCESS)
            return vulkan_error(waited, "waiting for the device");
        note_completed(next);
    }
    return {};
}

uint64_t Timeline::noted() const {
    const std::scoped_lock lock(mutex_);
    return noted_;
}

void Timeline::note_completed(uint64_t value) {
    const std::scoped_lock lock(mutex_);
    const Clock::time_point now = Clock::now();
    for (; noted_ < value; ++noted_) {
        Submission& submission = submissions_[(noted_ + 1) % timed_max];
        if (submission.value == noted_ + 1)
            submission.busy = now - std::max(submission.submitted, noted_at_);
        noted_at_ = now;
    }
}

Timeline::Clock::duration Timeline::busy(uint64_t value) const {
    const std::scoped_lock lock(mutex_);
    const Submission& submission = submissions_[value % timed_max];
    return submission.value == value ? submission.busy : Clock::duration(0);
}

void Timeline::retire(std::function<void()> release) {
    const uint64_t value = submitted_;
    if (completed() >= value) {
        release();
        return;
    }
    const std::scoped_lock lock(mutex_);
    retired_.push_back({value, std::move(release)});
}

void Timeline::collect() {
    if (has_retired())
        release_up_to(completed());
}

void Timeline::release_all() {
    release_up_to(std::numeric_limits<uint64_t>::max());
}

bool Timeline::has_retired() const {
    const std::scoped_lock lock(mutex_);
    return !retired_.empty();
}

void Timeline::release_up_to(uint64_t value) {
    std::vector<Retired> due; // run outside the lock, because releasing takes other locks
    {
        const std::scoped_lock lock(mutex_);
        while (!retired_.empty() && retired_.front().value <= value) {
            due.push_back(std::move(retired_.front()));
            retired_.pop_front();
        }
    }
    for (const Retired& retired : due)
        retired.release();
}

} // namespace etna::vk
