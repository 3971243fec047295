#pragma once

#include "core/base/result.hpp"

#include <volk.h>

namespace etna::vk {

/// Opens the Vulkan loader, once per process. Thread-safe. Errors: no_device (not installed), unsupported
/// (older than Vulkan 1.2).
Status open_loader();

/// Fills the process-wide pointers of instance-level functions from this instance, unless the instance that
/// last filled them still exists: they are the loader's entry points, identical for every instance.
/// Thread-safe.
void load_instance_functions(VkInstance instance);

/// Must be called before the instance is destroyed; the next instance fills the pointers again. Thread-safe.
void forget_instance(VkInstance instance);

/// Replaces every function that records, times or submits commands with a no-op: drivers without hardware can
/// compile pipelines, but anything else may crash (RADV of Mesa 22.3 crashes in vkBeginCommandBuffer).
/// Submitting fails with VK_ERROR_FEATURE_NOT_PRESENT.
void discard_commands(VolkDeviceTable& functions);

/// Hint: the packages to install if the loader or driver is missing.
extern const char* const install_hint;

} // namespace etna::vk
