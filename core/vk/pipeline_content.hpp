#pragma once

#include "core/vk/device_content.hpp"
#include "core/vk/pipeline.hpp"

#include <string>

namespace etna::vk {

struct Pipeline::Content {
    Device::Content* device = nullptr; ///< borrowed
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline handle = VK_NULL_HANDLE;
    uint32_t push_constant_bytes = 0;
    std::string label;

    Content() = default;
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content();
};

/// Push constant bytes that every Vulkan device supports; larger arguments are passed by address.
constexpr uint32_t push_constant_bytes_max = 128;

} // namespace etna::vk
