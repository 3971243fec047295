#pragma once

#include "core/vk/command_slots.hpp"
#include "core/vk/device_content.hpp"
#include "core/vk/recorder.hpp"

#include <memory>

namespace etna::vk {

struct CommandBuffer::Content {
    Device::Content* device = nullptr;    ///< borrowed
    std::unique_ptr<CommandContext> slot; ///< empty once submitted
    uint32_t barrier_count = 0;
    uint32_t dispatch_count = 0;

    Content() = default;
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content() {
        if (slot)
            device->slots->give_back(std::move(slot));
    }
};

} // namespace etna::vk
