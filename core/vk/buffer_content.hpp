#pragma once

#include "core/vk/allocator.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/device_content.hpp"

#include <string>

namespace etna::vk {

struct Buffer::Content {
    Device::Content* device = nullptr; ///< borrowed
    VkBuffer handle = VK_NULL_HANDLE;
    Allocation allocation;
    uint64_t address = 0;
    uint64_t bytes = 0; ///< as requested
    std::string label;

    Content() = default;
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content();
};

} // namespace etna::vk
