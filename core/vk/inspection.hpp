#pragma once

#include <volk.h>

namespace etna::vk {

/// Replaces every function that records, times or submits commands with a no-op: drivers without hardware can
/// compile pipelines, but anything else may crash (RADV of Mesa 22.3 crashes in vkBeginCommandBuffer).
/// Submitting fails with VK_ERROR_FEATURE_NOT_PRESENT.
void leave_out_commands(VolkDeviceTable& functions);

} // namespace etna::vk
