#pragma once

#include "core/base/result.hpp"

#include <string_view>

#include <volk.h>

namespace etna::vk {

/// A failed Vulkan call as an Error: the kind follows from the code, the message is
/// "<activity> failed with VK_ERROR_...". Precondition: code != VK_SUCCESS.
Error vulkan_error(VkResult code, std::string_view activity);

/// The status of a Vulkan call: success, or vulkan_error().
inline Status vulkan_status(VkResult code, std::string_view activity) {
    return code == VK_SUCCESS ? Status() : Status(vulkan_error(code, activity));
}

} // namespace etna::vk
