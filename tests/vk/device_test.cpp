#include "core/base/memory.hpp"
#include "core/vk/device.hpp"
#include "tests/vk/shaders.hpp"

#include <algorithm>

using namespace etna;
using namespace etna::test;

TEST_CASE("the profile of the device under test is filled in") {
    const vk::DeviceProfile& profile = gpu().device.profile();
    UNSCOPED_INFO("device: " << profile.name << ", driver: " << profile.driver);
    CHECK_FALSE(profile.name.empty());
    CHECK_FALSE(profile.driver.empty());
    CHECK(profile.subgroup_size >= 1);
    CHECK(profile.subgroup_size_min <= profile.subgroup_size);
    CHECK(profile.subgroup_size <= profile.subgroup_size_max);
    CHECK(profile.workgroup_invocations_max >= 128); // Vulkan's own minimum
    CHECK(profile.shared_bytes >= 16384);
    CHECK(profile.allocation_bytes_max >= gibibyte);
    CHECK(profile.memory_bytes > 0);
    CHECK(std::any_of(profile.uuid.begin(), profile.uuid.end(), [](uint8_t byte) { return byte != 0; }));
}

TEST_CASE("a masked device has no optional feature and still computes") {
    auto device = must(vk::Device::create(gpu().instance, gpu().physical, {.mask_optional_features = true}));
    const vk::DeviceProfile& profile = device->profile();
    CHECK_FALSE(
        (profile.storage_8bit || profile.storage_16bit || profile.shader_float16 || profile.shader_int8));
    CHECK_FALSE((profile.shader_int64 || profile.integer_dot_product || profile.subgroup_arithmetic));
    CHECK_FALSE((profile.subgroup_size_control || profile.cooperative_matrix || profile.memory_budget));
    CHECK(profile.subgroup_size_min == profile.subgroup_size_max);
    const vk::Pipeline pipeline = make_add_one(*device);
    const auto buffer = must(vk::Buffer::create(*device, vk::MemoryDomain::device, 400, "masked"));
    CHECK(buffer.mapped().empty());
    write_words(*device, buffer, std::vector<uint32_t>(100, 41));
    auto recorder = must(vk::Recorder::create(*device, {.timestamps = true}));
    add_one(recorder, pipeline, buffer.range(), buffer.range());
    run(*device, recorder);
    CHECK(read_words(*device, buffer, 100) == std::vector<uint32_t>(100, 42));
    CHECK(device->timings().empty());
}

TEST_CASE("device memory is mapped exactly where memory is unified") {
    auto& device = gpu().device;
    const auto buffer = must(vk::Buffer::create(device, vk::MemoryDomain::device, 400, "maybe mapped"));
    CHECK(buffer.mapped().size() == (device.profile().unified_memory ? 400 : 0));
}

TEST_CASE("free memory on a CPU device is the host's, not the heap's") {
    auto& device = gpu().device;
    const vk::MemoryState state = device.memory();
    CHECK(state.free_bytes > 0);
    CHECK(state.free_bytes <= state.total_bytes);
    if (device.profile().type != vk::DeviceType::cpu)
        return;
    const uint64_t host = available_host_memory_bytes().value();
    const auto slack = static_cast<double>(512 * mebibyte); // other programs come and go
    CHECK(static_cast<double>(state.free_bytes) == Approx(static_cast<double>(host)).margin(slack));
}

TEST_CASE("a device that lacks a required feature is refused, and the error names it") {
    vk::PhysicalDevice poor = gpu().physical;
    poor.missing = "timelineSemaphore";
    const auto device = vk::Device::create(gpu().instance, poor);
    REQUIRE_FALSE(device);
    CHECK(device.error().kind == ErrorKind::unsupported);
    CHECK(device.error().message.find("lacks timelineSemaphore") != std::string::npos);
    CHECK_FALSE(device.error().hint.empty());
}
