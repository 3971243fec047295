#pragma once

#include "core/vk/buffer.hpp"

#include <cstdint>
#include <vector>

#include <volk.h>

namespace etna::vk {

/// Indices of the memory types that serve an intent, best first. Pure. `unified`: device memory is mapped if
/// possible.
std::vector<uint32_t> memory_types_for(const VkPhysicalDeviceMemoryProperties& properties,
                                       MemoryDomain intent, bool unified);

} // namespace etna::vk
