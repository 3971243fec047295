#include "core/vk/allocator.hpp"
#include "tests/support/catch.hpp"

#include <vector>

using etna::vk::memory_types_for;
using etna::vk::MemoryDomain;
using Types = std::vector<uint32_t>;

namespace {

constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags mapped =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

VkPhysicalDeviceMemoryProperties types(std::initializer_list<VkMemoryPropertyFlags> flags) {
    VkPhysicalDeviceMemoryProperties properties{};
    for (const VkMemoryPropertyFlags type : flags)
        properties.memoryTypes[properties.memoryTypeCount++].propertyFlags = type;
    return properties;
}

} // namespace

TEST_CASE("a discrete device uses device-local memory for shaders and host memory for staging") {
    const auto memory = types({0, local, mapped, mapped | cached, local | mapped});
    CHECK(memory_types_for(memory, MemoryDomain::device, false) == Types{1, 4});
    CHECK(memory_types_for(memory, MemoryDomain::upload, false) == Types{2, 3, 4});
    CHECK(memory_types_for(memory, MemoryDomain::readback, false) == Types{3, 2, 4});
}

TEST_CASE("unified memory is mapped for the device too") {
    const auto memory = types({local, local | mapped, local | mapped | cached});
    CHECK(memory_types_for(memory, MemoryDomain::device, true).front() == 1);
    CHECK(memory_types_for(memory, MemoryDomain::readback, true).front() == 2);
    CHECK(memory_types_for(memory, MemoryDomain::upload, true).size() == 2);
}

TEST_CASE("readback falls back to uncached memory, and special memory is never used") {
    CHECK(memory_types_for(types({local, mapped}), MemoryDomain::readback, false) == Types{1});
    CHECK(memory_types_for(
              types({local | VK_MEMORY_PROPERTY_PROTECTED_BIT,
                     local | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT}),
              MemoryDomain::device, false)
              .empty());
    CHECK(
        memory_types_for(types({VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT}), MemoryDomain::upload, false).empty());
}
