#pragma once

#include <volk.h>

namespace etna::vk {

/// Puts functions that do nothing in the place of all that make, time and run commands: drivers that stand in
/// for hardware which is not there compile, but the rest of them may crash (RADV of Mesa 22.3 does when a
/// command buffer begins). Submitting fails with VK_ERROR_FEATURE_NOT_PRESENT.
void leave_out_commands(VolkDeviceTable& functions);

} // namespace etna::vk
