#pragma once

#include "core/vk/allocator.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/command_contexts.hpp"
#include "core/vk/device.hpp"
#include "core/vk/instance.hpp"
#include "core/vk/pipeline.hpp"
#include "core/vk/recorder.hpp"
#include "core/vk/timeline.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <volk.h>

// The implementation classes of this room, which own the Vulkan handles; private to it.
namespace etna::vk {

/// VK_EXT_debug_utils; all pointers are null if the extension is missing.
struct DebugFunctions {
    PFN_vkCreateDebugUtilsMessengerEXT create_messenger = nullptr;
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger = nullptr;
    PFN_vkSetDebugUtilsObjectNameEXT set_name = nullptr;
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label = nullptr;
    PFN_vkCmdEndDebugUtilsLabelEXT end_label = nullptr;
};

struct Instance::Impl {
    VkInstance handle = VK_NULL_HANDLE;
    Validation validation = Validation::off;
    uint32_t version = 0; ///< Vulkan version that the instance was created for
    DebugFunctions debug;
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
    std::vector<PhysicalDevice> devices;

    mutable std::mutex mutex; ///< of messages, which arrive on any thread
    std::vector<std::string> messages;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();
};

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

struct Device::Impl {
    const Instance::Impl* instance = nullptr; ///< borrowed
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    DeviceProfile profile;                ///< enabled features
    DeviceProfile physical_profile;       ///< features of the device
    uint32_t workgroup_subgroups_max = 0; ///< with a required subgroup size; 0: unknown

    LogicalDevice device; ///< first of the handles, so that it is destroyed last
    VkQueue queue = VK_NULL_HANDLE;
    std::mutex queue_mutex; ///< guards `queue`, and orders the timeline's values as the submissions
    std::atomic<bool> is_lost = false;
    Timeline timeline;
    std::optional<Allocator> allocator;
    std::optional<CommandContextPool> contexts;
    VkPipelineCache pipeline_cache = VK_NULL_HANDLE;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    /// Starts commands; returns the timeline value that marks their completion. Errors: device_lost,
    /// out_of_memory.
    Result<uint64_t> enqueue(VkCommandBuffer commands);
    /// Blocks until all submissions made so far have completed. Errors: device_lost.
    Status wait_for_submissions();
    /// Returns the status, and stores whether it says that the device is lost.
    Status noting_loss(Status status);
    /// Releases resources of completed submissions.
    void collect();
    /// Names a Vulkan object in captures and validation messages, if VK_EXT_debug_utils is available.
    void set_name(VkObjectType type, uint64_t object, std::string_view name) const;
};

/// Queries the driver and the operating system for the memory still available.
MemoryState read_memory_state(const Device::Impl& impl);

struct Buffer::Impl {
    Device::Impl* device = nullptr; ///< borrowed
    VkBuffer handle = VK_NULL_HANDLE;
    Allocation allocation;
    uint64_t address = 0;
    uint64_t bytes = 0; ///< as requested
    std::string label;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();
};

struct Pipeline::Impl {
    Device::Impl* device = nullptr; ///< borrowed
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline handle = VK_NULL_HANDLE;
    uint32_t push_constant_bytes = 0;
    std::string label;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();
};

/// Push constant bytes that every Vulkan device supports.
constexpr uint32_t push_constant_bytes_min = 128;

struct CommandBuffer::Impl {
    Device::Impl* device = nullptr;          ///< borrowed
    std::unique_ptr<CommandContext> context; ///< empty once consumed
    bool is_reusable = false;
    uint64_t submitted = 0; ///< timeline value of the last submission; 0: none
    uint32_t barrier_count = 0;
    uint32_t dispatch_count = 0;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();
};

} // namespace etna::vk
