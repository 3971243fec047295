#include "core/base/memory.hpp"
#include "core/vk/device_content.hpp"

#include <algorithm>
#include <optional>

#include <unistd.h>

namespace etna::vk {
namespace {

uint64_t host_memory_bytes() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes) : 0;
}

/// Of the largest device-local heap: the free budget by VK_EXT_memory_budget, else the size less this
/// process's allocations.
uint64_t free_heap_bytes(const Device::Content& content) {
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
    budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
    VkPhysicalDeviceMemoryProperties2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    memory.pNext = content.profile.memory_budget ? &budget : nullptr;
    vkGetPhysicalDeviceMemoryProperties2(content.physical, &memory);

    std::optional<uint32_t> largest;
    for (uint32_t heap = 0; heap < memory.memoryProperties.memoryHeapCount; ++heap) {
        const VkMemoryHeap& candidate = memory.memoryProperties.memoryHeaps[heap];
        if ((candidate.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 &&
            (!largest || candidate.size > memory.memoryProperties.memoryHeaps[*largest].size))
            largest = heap;
    }
    if (!largest)
        return 0;
    const uint64_t limit = content.profile.memory_budget ? budget.heapBudget[*largest]
                                                         : memory.memoryProperties.memoryHeaps[*largest].size;
    const uint64_t used =
        content.profile.memory_budget ? budget.heapUsage[*largest] : content.allocator->device_local_bytes();
    return limit - std::min(limit, used);
}

} // namespace

MemoryState read_memory_state(const Device::Content& content) {
    const std::optional<uint64_t> host_free_bytes = available_host_memory_bytes();
    // The heap of a device that is the CPU has a meaningless size (lavapipe reports 2 GiB and allocates
    // more).
    if (content.physical_profile.type == DeviceType::cpu && host_free_bytes)
        return {.free_bytes = *host_free_bytes, .total_bytes = host_memory_bytes()};
    MemoryState state{.free_bytes = free_heap_bytes(content), .total_bytes = content.profile.memory_bytes};
    if (content.physical_profile.unified_memory && host_free_bytes)
        state.free_bytes = std::min(state.free_bytes, *host_free_bytes);
    return state;
}

} // namespace etna::vk
