#pragma once

#include "core/vk/instance.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <volk.h>

namespace etna::vk {

/// VK_EXT_debug_utils; all pointers are null if the extension is missing.
struct DebugFunctions {
    PFN_vkCreateDebugUtilsMessengerEXT create_messenger = nullptr;
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger = nullptr;
    PFN_vkSetDebugUtilsObjectNameEXT set_name = nullptr;
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label = nullptr;
    PFN_vkCmdEndDebugUtilsLabelEXT end_label = nullptr;
};

struct Instance::Content {
    VkInstance handle = VK_NULL_HANDLE;
    uint32_t version = 0; ///< Vulkan version that the instance was created for
    DebugFunctions debug;
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
    std::vector<PhysicalDevice> devices;

    mutable std::mutex mutex; ///< of messages, which arrive on any thread
    std::vector<std::string> messages;

    Content() = default;
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content();
};

} // namespace etna::vk
