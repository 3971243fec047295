#include "core/vk/command_contexts.hpp"

#include "core/vk/error.hpp"

#include <algorithm>
#include <optional>

namespace etna::vk {

CommandContextPool::~CommandContextPool() {
    for (const auto& context : free_)
        destroy(*context);
    for (const InFlight& flying : in_flight_)
        destroy(*flying.context);
}

void CommandContextPool::destroy(CommandContext& context) const {
    for (VkQueryPool const queries : context.query_pools)
        options_.functions->vkDestroyQueryPool(options_.device, queries, nullptr);
    options_.functions->vkDestroyCommandPool(options_.device, context.pool,
                                             nullptr); // and its command buffer
}

Result<std::unique_ptr<CommandContext>> CommandContextPool::take() {
    {
        const std::scoped_lock lock(mutex_);
        if (!free_.empty()) {
            auto context = std::move(free_.back());
            free_.pop_back();
            options_.functions->vkResetCommandPool(options_.device, context->pool, 0);
            context->timed.clear();
            return context;
        }
    }
    auto context = std::make_unique<CommandContext>();
    VkCommandPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool_info.queueFamilyIndex = options_.queue_family;
    VkResult result =
        options_.functions->vkCreateCommandPool(options_.device, &pool_info, nullptr, &context->pool);
    if (result != VK_SUCCESS)
        return vulkan_error(result, "creating a command pool");
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = context->pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    result = options_.functions->vkAllocateCommandBuffers(options_.device, &info, &context->buffer);
    if (result != VK_SUCCESS) {
        destroy(*context);
        return vulkan_error(result, "allocating a command buffer");
    }
    return context;
}

void CommandContextPool::recycle(std::unique_ptr<CommandContext> context) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(context));
}

void CommandContextPool::recycle_at(std::unique_ptr<CommandContext> context, uint64_t value) {
    const std::scoped_lock lock(mutex_);
    in_flight_.push_back({value, std::move(context)});
}

void CommandContextPool::collect(uint64_t completed) {
    const std::scoped_lock lock(mutex_);
    while (!in_flight_.empty() && in_flight_.front().value <= completed) {
        auto context = std::move(in_flight_.front().context);
        in_flight_.pop_front();
        if (!context->timed.empty())
            timings_ = read_timings(*context);
        free_.push_back(std::move(context));
    }
}

Status CommandContextPool::add_query_pool(CommandContext& context) const {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2 * CommandContext::timed_per_query_pool;
    VkQueryPool pool = VK_NULL_HANDLE;
    ETNA_CHECK(vulkan_status(options_.functions->vkCreateQueryPool(options_.device, &info, nullptr, &pool),
                             "creating a pool of timestamps"));
    context.query_pools.push_back(pool);
    return {};
}

std::vector<Timing> CommandContextPool::read_timings(const CommandContext& context) const {
    const uint64_t mask =
        options_.timestamp_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << options_.timestamp_bits) - 1;
    std::vector<Timing> timings;
    timings.reserve(context.timed.size());
    std::vector<uint64_t> stamps;
    std::optional<uint64_t> first_stamp;
    const auto microseconds = [&](uint64_t from, uint64_t to) { // the counter may wrap around
        return static_cast<double>((to - from) & mask) * options_.timestamp_period_ns / 1e3;
    };
    for (size_t first = 0; first < context.timed.size(); first += CommandContext::timed_per_query_pool) {
        const size_t count =
            std::min<size_t>(context.timed.size() - first, CommandContext::timed_per_query_pool);
        stamps.assign(2 * count, 0);
        const VkResult read = options_.functions->vkGetQueryPoolResults(
            options_.device, context.query_pools[first / CommandContext::timed_per_query_pool], 0,
            static_cast<uint32_t>(2 * count), stamps.size() * sizeof(uint64_t), stamps.data(),
            sizeof(uint64_t), VK_QUERY_RESULT_64_BIT);
        if (read != VK_SUCCESS)
            return {}; // the device was lost
        for (size_t i = 0; i < count; ++i) {
            if (!first_stamp)
                first_stamp = stamps[0];
            timings.push_back({.label = context.timed[first + i],
                               .start_us = microseconds(*first_stamp, stamps[2 * i]),
                               .microseconds = microseconds(stamps[2 * i], stamps[2 * i + 1])});
        }
    }
    return timings;
}

std::vector<Timing> CommandContextPool::timings() const {
    const std::scoped_lock lock(mutex_);
    return timings_;
}

size_t CommandContextPool::size() const {
    const std::scoped_lock lock(mutex_);
    return free_.size() + in_flight_.size();
}

} // namespace etna::vk
