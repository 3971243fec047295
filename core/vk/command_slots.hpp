#pragma once

#include "core/base/result.hpp"
#include "core/vk/device.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <volk.h>

namespace etna::vk {

/// What one submission records into. Its pool is reset as a whole once the device is done with it, so that a
/// steady stream of submissions makes the driver allocate nothing.
struct CommandSlot {
    static constexpr uint32_t timed_per_query_pool = 512; ///< dispatches; each takes two queries

    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer buffer = VK_NULL_HANDLE;
    std::vector<VkQueryPool> query_pools;
    std::vector<std::string> timed; ///< labels of the dispatches that have timestamps, in order
};

struct CommandSlotsOptions {
    VkDevice device = VK_NULL_HANDLE;
    const VolkDeviceTable* functions = nullptr; ///< borrowed
    uint32_t queue_family = 0;
    uint32_t timestamp_bits = 0;
    double timestamp_period_ns = 0;
};

/// Recycles command slots. Thread-safe.
class CommandSlots {
public:
    explicit CommandSlots(const CommandSlotsOptions& options) : options_(options) {}
    CommandSlots(const CommandSlots&) = delete;
    CommandSlots& operator=(const CommandSlots&) = delete;
    ~CommandSlots(); ///< the device must be idle

    /// A slot whose command buffer is ready to begin. Errors: out_of_memory, device_lost.
    Result<std::unique_ptr<CommandSlot>> take();
    /// A slot that was not submitted comes back.
    void give_back(std::unique_ptr<CommandSlot> slot);
    /// A slot comes back when the timeline reaches `value`.
    void give_back_at(std::unique_ptr<CommandSlot> slot, uint64_t value);
    /// Recovers the slots of completed submissions and keeps the newest timings.
    void collect(uint64_t completed);

    /// One more pool of 2 * timed_per_query_pool timestamps. Errors: out_of_memory.
    Status add_query_pool(CommandSlot& slot) const;

    [[nodiscard]] std::vector<Timing> timings() const;
    /// Number of slots that exist and are not with a caller.
    [[nodiscard]] size_t size() const;

private:
    struct InFlight {
        uint64_t value = 0;
        std::unique_ptr<CommandSlot> slot;
    };
    void destroy(CommandSlot& slot) const;
    [[nodiscard]] std::vector<Timing> read_timings(const CommandSlot& slot) const;

    CommandSlotsOptions options_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<CommandSlot>> free_;
    std::deque<InFlight> in_flight_;
    std::vector<Timing> timings_;
};

} // namespace etna::vk
