#include "core/vk/instance.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using etna::ErrorKind;
using etna::vk::DeviceType;
using etna::vk::PhysicalDevice;
using etna::vk::select_device;

namespace {

/// Devices get their index and a UUID that ends in it.
std::vector<PhysicalDevice> listing(std::vector<PhysicalDevice> devices) {
    for (uint32_t index = 0; index < devices.size(); ++index) {
        devices[index].index = index;
        devices[index].profile.uuid = {0xab, 0xcd};
        devices[index].profile.uuid[15] = static_cast<uint8_t>(index);
    }
    return devices;
}

PhysicalDevice device(std::string name, DeviceType type, uint64_t memory_bytes = 0,
                      std::string missing = "") {
    PhysicalDevice result;
    result.profile.name = std::move(name);
    result.profile.type = type;
    result.profile.memory_bytes = memory_bytes;
    result.missing = std::move(missing);
    return result;
}

std::string chosen(const std::vector<PhysicalDevice>& devices, std::string_view selector = "") {
    const auto result = select_device(devices, selector);
    return result ? result->profile.name : "error: " + result.error().message;
}

} // namespace

TEST_CASE("the type of a device comes before its memory") {
    const auto devices = listing(
        {device("cpu", DeviceType::cpu, 400), device("virtual", DeviceType::virtual_gpu, 300),
         device("integrated", DeviceType::integrated, 200), device("discrete", DeviceType::discrete, 100)});
    CHECK(chosen(devices) == "discrete");
    CHECK(chosen({devices[0], devices[1], devices[2]}) == "integrated");
    CHECK(chosen({devices[0], devices[1]}) == "virtual");
    CHECK(chosen({devices[0]}) == "cpu");
    CHECK(chosen(listing({device("cpu", DeviceType::cpu, 400), device("other", DeviceType::other)})) ==
          "other");
}

TEST_CASE("among equal types the most memory wins, then the listing order") {
    CHECK(chosen(listing({device("small", DeviceType::discrete, 8),
                          device("large", DeviceType::discrete, 16)})) == "large");
    CHECK(chosen(listing({device("first", DeviceType::discrete, 8),
                          device("second", DeviceType::discrete, 8)})) == "first");
}

TEST_CASE("a device that lacks a required feature is not selected, and is refused by name") {
    const auto devices = listing(
        {device("old", DeviceType::discrete, 16, "bufferDeviceAddress"), device("cpu", DeviceType::cpu)});
    CHECK(chosen(devices) == "cpu");
    const auto named = select_device(devices, "old");
    REQUIRE_FALSE(named);
    CHECK(named.error().kind == ErrorKind::unsupported);
    CHECK(named.error().message == "the device `old` cannot be used: it lacks bufferDeviceAddress");
    const auto none = select_device({devices[0]}, "");
    REQUIRE_FALSE(none);
    CHECK(none.error().kind == ErrorKind::no_device);
    CHECK(none.error().message == "no Vulkan device can be used: `old` lacks bufferDeviceAddress");
    CHECK(select_device({}, "").error().kind == ErrorKind::no_device);
    CHECK(select_device({}, "old").error().kind == ErrorKind::no_device);
}

TEST_CASE("a device is selected by index, UUID or a part of its name") {
    const auto devices =
        listing({device("Fast 3060", DeviceType::discrete), device("Fast 4060", DeviceType::discrete),
                 device("llvmpipe", DeviceType::cpu)});
    CHECK(chosen(devices, "2") == "llvmpipe");
    CHECK(chosen(devices, "0") == "Fast 3060");
    CHECK(chosen(devices, "3060") == "Fast 3060"); // not an index
    CHECK(select_device(devices, "60").error().kind ==
          ErrorKind::not_found); // small numbers are indexes alone
    CHECK(chosen(devices, "LLVM") == "llvmpipe");
    CHECK(chosen(devices, "abcd0000000000000000000000000001") == "Fast 4060");
    CHECK(chosen(devices, "ABCD0000-0000-0000-0000-000000000002") == "llvmpipe");
}

TEST_CASE("a name that matches no device or several is an error that lists them") {
    const auto devices =
        listing({device("Fast 3060", DeviceType::discrete), device("Fast 4060", DeviceType::discrete),
                 device("llvmpipe", DeviceType::cpu)});
    const auto none = select_device(devices, "voodoo");
    REQUIRE_FALSE(none);
    CHECK(none.error().kind == ErrorKind::not_found);
    CHECK(none.error().hint == "the devices are 0 `Fast 3060`, 1 `Fast 4060`, 2 `llvmpipe`");
    CHECK(select_device(devices, "7").error().kind == ErrorKind::not_found);
    const auto several = select_device(devices, "fast");
    REQUIRE_FALSE(several);
    CHECK(several.error().kind == ErrorKind::invalid_argument);
    CHECK(several.error().hint == "name one of 0 `Fast 3060`, 1 `Fast 4060` by its index or UUID");
}
