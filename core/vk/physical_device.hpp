#pragma once

#include "core/vk/instance.hpp"

#include <cstdint>
#include <optional>

#include <volk.h>

namespace etna::vk {

/// Queries a physical device of this instance: its profile and the features it lacks.
PhysicalDevice read_physical_device(VkInstance instance, VkPhysicalDevice handle, uint32_t index,
                                    uint32_t instance_version);

/// The compute queue family: preferably one without graphics, so that the desktop's queue stays free.
std::optional<uint32_t> find_compute_family(VkPhysicalDevice handle);

/// Valid timestamp bits on that family's queues; 0: no timestamps.
uint32_t timestamp_bits(VkPhysicalDevice handle, uint32_t family);

} // namespace etna::vk
