#include "core/vk/error.hpp"
#include "tests/support/catch.hpp"

using etna::ErrorKind;
using etna::vk::vulkan_error;

TEST_CASE("a failed Vulkan call has a kind, a cause and a hint") {
    const auto lost = vulkan_error(VK_ERROR_DEVICE_LOST, "submitting work");
    CHECK(lost.kind == ErrorKind::device_lost);
    CHECK(lost.message == "submitting work failed with VK_ERROR_DEVICE_LOST");
    CHECK_FALSE(lost.hint.empty());
    CHECK(vulkan_error(VK_ERROR_OUT_OF_DEVICE_MEMORY, "x").kind == ErrorKind::out_of_memory);
    CHECK(vulkan_error(VK_ERROR_OUT_OF_HOST_MEMORY, "x").kind == ErrorKind::out_of_memory);
    CHECK(vulkan_error(VK_ERROR_INCOMPATIBLE_DRIVER, "x").kind == ErrorKind::no_device);
    CHECK(vulkan_error(VK_ERROR_FEATURE_NOT_PRESENT, "x").kind == ErrorKind::unsupported);
    constexpr int unknown = -1999999999; // no result of today, but one that the type can hold
    const auto strange = vulkan_error(static_cast<VkResult>(unknown), "x");
    CHECK(strange.kind == ErrorKind::no_device); // the driver reports only that it failed
    CHECK(strange.message == "x failed with VkResult -1999999999");
    CHECK_FALSE(strange.hint.empty());
}
