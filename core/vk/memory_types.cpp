#include "core/vk/memory_types.hpp"

#include <algorithm>
#include <utility>

namespace etna::vk {
namespace {

constexpr VkMemoryPropertyFlags device_local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags host_visible =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
/// Everything else is for special purposes (protected, lazily allocated, uncached on the device).
constexpr VkMemoryPropertyFlags ordinary = device_local | host_visible | cached;

struct Wish {
    VkMemoryPropertyFlags required = 0;
    VkMemoryPropertyFlags preferred = 0;
    VkMemoryPropertyFlags avoided = 0;
};

Wish wish_for(MemoryDomain intent, bool unified) {
    switch (intent) {
    case MemoryDomain::upload: // host memory: leaves the small BAR window of a discrete device to others
        return {.required = host_visible, .preferred = 0, .avoided = device_local | cached};
    case MemoryDomain::readback:
        return {.required = host_visible, .preferred = cached, .avoided = device_local};
    case MemoryDomain::device:
        break;
    }
    if (unified)
        return {.required = device_local, .preferred = host_visible, .avoided = 0};
    return {.required = device_local, .preferred = 0, .avoided = host_visible | cached};
}

} // namespace

std::vector<uint32_t> memory_types_for(const VkPhysicalDeviceMemoryProperties& properties,
                                       MemoryDomain intent, bool unified) {
    const Wish wish = wish_for(intent, unified);
    std::vector<std::pair<int, uint32_t>> ranked; // penalty, index
    for (uint32_t index = 0; index < properties.memoryTypeCount; ++index) {
        const VkMemoryPropertyFlags flags = properties.memoryTypes[index].propertyFlags;
        if ((flags & ~ordinary) != 0 || (flags & wish.required) != wish.required)
            continue;
        const int penalty =
            ((flags & wish.preferred) != wish.preferred ? 2 : 0) + ((flags & wish.avoided) != 0 ? 1 : 0);
        ranked.emplace_back(penalty, index);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<uint32_t> types;
    types.reserve(ranked.size());
    for (const auto& [penalty, index] : ranked)
        types.push_back(index);
    return types;
}

} // namespace etna::vk
