#pragma once

#include "core/base/result.hpp"

#include <volk.h>

namespace etna::vk {

/// Opens the Vulkan loader, once per process. Thread-safe. Errors: no_device (not installed), unsupported
/// (older than Vulkan 1.2).
Status open_loader();

/// Fills the process-wide pointers of instance-level functions from the first instance. They are the loader's
/// own entries, the same for every instance, and stay valid when that instance is gone. Thread-safe.
void load_instance_functions(VkInstance instance);

/// What a user can install when loader or driver is missing.
extern const char* const install_hint;

} // namespace etna::vk
