#pragma once

#include "core/base/error.hpp"

#include <string_view>

#include <volk.h>

namespace etna::vk {

/// A failed Vulkan call as an Error: the kind follows from the code, the message is
/// "<activity> failed with VK_ERROR_...". Precondition: code != VK_SUCCESS.
Error vulkan_error(VkResult code, std::string_view activity);

} // namespace etna::vk
