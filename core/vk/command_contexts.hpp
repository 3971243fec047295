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

/// The command pool, buffer and queries of one submission. The pool is reset in one call when the device has
/// finished, so that the driver allocates nothing in steady state.
struct CommandContext {
    static constexpr uint32_t timed_per_query_pool = 512; ///< dispatches; each takes two queries

    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer buffer = VK_NULL_HANDLE;
    std::vector<VkQueryPool> query_pools;
    std::vector<std::string> timed; ///< labels of the dispatches that have timestamps, in order
};

struct CommandContextPoolOptions {
    VkDevice device = VK_NULL_HANDLE;
    const VolkDeviceTable* functions = nullptr; ///< borrowed
    uint32_t queue_family = 0;
    uint32_t timestamp_bits = 0;
    double timestamp_period_ns = 0;
};

/// Recycles command contexts. Thread-safe.
class CommandContextPool {
public:
    explicit CommandContextPool(const CommandContextPoolOptions& options) : options_(options) {}
    CommandContextPool(const CommandContextPool&) = delete;
    CommandContextPool& operator=(const CommandContextPool&) = delete;
    ~CommandContextPool(); ///< the device must be idle

    /// Returns a context whose command buffer is ready to begin. Errors: out_of_memory, device_lost.
    Result<std::unique_ptr<CommandContext>> take();
    /// Returns a context that the device does not use.
    void recycle(std::unique_ptr<CommandContext> context);
    /// Returns a context when the timeline reaches `value` and every value passed before.
    void recycle_at(std::unique_ptr<CommandContext> context, uint64_t value);
    /// Recycles the contexts of completed submissions and stores the newest timings.
    void collect(uint64_t completed);

    /// Adds a pool of 2 * timed_per_query_pool timestamps. Errors: out_of_memory.
    Status add_query_pool(CommandContext& context) const;

    [[nodiscard]] std::vector<Timing> timings() const;
    /// Number of existing contexts that no caller holds.
    [[nodiscard]] size_t size() const;

private:
    struct InFlight {
        uint64_t value = 0;
        std::unique_ptr<CommandContext> context;
    };
    void destroy(CommandContext& context) const;
    [[nodiscard]] std::vector<Timing> read_timings(const CommandContext& context) const;

    CommandContextPoolOptions options_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<CommandContext>> free_;
    std::deque<InFlight> in_flight_;
    std::vector<Timing> timings_;
};

} // namespace etna::vk
