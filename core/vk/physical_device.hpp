#pragma once

#include "core/vk/instance.hpp"

#include <cstdint>
#include <optional>

#include <volk.h>

namespace etna::vk {

/// Everything that is known of a device of this instance before it is created, and what it lacks.
PhysicalDevice read_physical_device(VkInstance instance, VkPhysicalDevice handle, uint32_t index,
                                    uint32_t instance_version);

/// The queue family to compute on: one without graphics where there is one, so that the desktop keeps its
/// queue.
std::optional<uint32_t> find_compute_family(VkPhysicalDevice handle);

/// Bits of a timestamp that count on that family's queues; 0: no timestamps.
uint32_t timestamp_bits(VkPhysicalDevice handle, uint32_t family);

} // namespace etna::vk
