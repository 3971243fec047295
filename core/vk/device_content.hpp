#pragma once

#include "core/vk/allocator.hpp"
#include "core/vk/command_slots.hpp"
#include "core/vk/device.hpp"
#include "core/vk/instance_content.hpp"
#include "core/vk/timeline.hpp"

#include <optional>
#include <string_view>

#include <volk.h>

namespace etna::vk {

struct LogicalDevice {
    VkDevice handle = VK_NULL_HANDLE;
    VolkDeviceTable functions{};

    LogicalDevice() = default;
    LogicalDevice(const LogicalDevice&) = delete;
    LogicalDevice& operator=(const LogicalDevice&) = delete;
    ~LogicalDevice() {
        if (handle != VK_NULL_HANDLE)
            functions.vkDestroyDevice(handle, nullptr);
    }
};

struct Device::Content {
    const Instance::Content* instance = nullptr; ///< borrowed
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    DeviceProfile profile;                ///< enabled features
    DeviceProfile physical_profile;       ///< features of the device
    uint32_t workgroup_subgroups_max = 0; ///< with a required subgroup size; 0: unknown

    LogicalDevice device; ///< first of the handles, so that it is destroyed last
    VkQueue queue = VK_NULL_HANDLE;
    Timeline timeline;
    std::optional<Allocator> allocator;
    std::optional<CommandContextPool> slots;
    VkPipelineCache pipeline_cache = VK_NULL_HANDLE;

    Content() = default;
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content();

    /// Releases resources of completed submissions.
    void collect();
    /// Names a Vulkan object in captures and validation messages, if VK_EXT_debug_utils is available.
    void set_name(VkObjectType type, uint64_t object, std::string_view name) const;
};

/// Queries the driver and the operating system for the memory still available.
MemoryState read_memory_state(const Device::Content& content);

} // namespace etna::vk
