#include "core/vk/error.hpp"

#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::vk {
namespace {

std::string code_name(VkResult code) {
    using Name = std::pair<VkResult, std::string_view>;
    static constexpr std::array names = {
        Name{VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},
        Name{VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
        Name{VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED"},
        Name{VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
        Name{VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED"},
        Name{VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT"},
        Name{VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT"},
        Name{VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT"},
        Name{VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER"},
        Name{VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS"},
        Name{VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV"},
    };
    for (const auto& [named, name] : names) {
        if (named == code)
            return std::string(name);
    }
    return fmt::format("VkResult {}", static_cast<int>(code));
}

} // namespace

Error vulkan_error(VkResult code, std::string_view activity) {
    std::string message = fmt::format("{} failed with {}", activity, code_name(code));
    switch (code) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return {ErrorKind::out_of_memory, std::move(message),
                "close programs that use much memory, or use a smaller model or context"};
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_MEMORY_MAP_FAILED:
    case VK_ERROR_TOO_MANY_OBJECTS:
        return {ErrorKind::out_of_memory, std::move(message),
                "use a smaller model or context, or close programs that use the device's memory"};
    case VK_ERROR_DEVICE_LOST:
        return {
            ErrorKind::device_lost, std::move(message),
            "the driver reset the device: see the system's log (dmesg), update the driver, then start again"};
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return {ErrorKind::no_device, std::move(message), "install or update the GPU's Vulkan driver"};
    case VK_ERROR_LAYER_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_FORMAT_NOT_SUPPORTED:
    case VK_ERROR_INVALID_SHADER_NV:
        return {ErrorKind::unsupported, std::move(message),
                "update the GPU's Vulkan driver, or choose another device"};
    default: // driver-internal failures, such as a failed thread creation
        return {ErrorKind::no_device, std::move(message),
                "update the GPU's Vulkan driver, or choose another device"};
    }
}

} // namespace etna::vk
