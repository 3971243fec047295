// Failures of the driver, simulated by replacing its functions with failing ones.
#include "core/vk/impl.hpp"
#include "tests/vk/shaders.hpp"

using namespace etna;
using namespace etna::test;

namespace {

/// The driver's own function while a test has replaced it, and the largest allocation that succeeds.
PFN_vkAllocateMemory driver_allocate = nullptr;
uint64_t allocate_limit_bytes = 0;

VKAPI_ATTR VkResult VKAPI_CALL allocate_little(VkDevice device, const VkMemoryAllocateInfo* info,
                                               const VkAllocationCallbacks* callbacks,
                                               VkDeviceMemory* memory) {
    if (info->allocationSize > allocate_limit_bytes)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return driver_allocate(device, info, callbacks, memory);
}

VKAPI_ATTR VkResult VKAPI_CALL lose_device(VkQueue, uint32_t, const VkSubmitInfo*, VkFence) {
    return VK_ERROR_DEVICE_LOST;
}

VKAPI_ATTR VkResult VKAPI_CALL lose_device_while_waiting(VkDevice, const VkSemaphoreWaitInfo*, uint64_t) {
    return VK_ERROR_DEVICE_LOST;
}

/// A separate device, whose functions can be replaced.
struct Fixture {
    std::unique_ptr<vk::Device> device =
        must(vk::Device::create(gpu().instance, gpu().physical, gpu().options));
    VolkDeviceTable& functions = device->impl().device.functions;

    void limit_allocations(uint64_t bytes) const {
        driver_allocate = functions.vkAllocateMemory;
        allocate_limit_bytes = bytes;
        functions.vkAllocateMemory = allocate_little;
    }
};

} // namespace

TEST_CASE("the error for exhausted memory gives requested and free bytes, and the device remains usable") {
    const Fixture f;
    f.limit_allocations(mebibyte);
    const auto buffer = vk::Buffer::create(*f.device, vk::MemoryDomain::device, 2 * mebibyte, "hog");
    REQUIRE_FALSE(buffer);
    CHECK(buffer.error().kind == ErrorKind::out_of_memory);
    CHECK(buffer.error().message.find("buffer `hog` needs 2.0 MiB of device memory, and ") == 0);
    CHECK(buffer.error().message.find("MiB are free on `" + f.device->profile().name + "`") !=
          std::string::npos);
    CHECK_FALSE(buffer.error().hint.empty());
    CHECK(f.device->impl().allocator->block_count() == 0);
    // A shared block cannot be allocated, but a block of the exact size can.
    const auto small = must(vk::Buffer::create(*f.device, vk::MemoryDomain::device, 4096, "small"));
    CHECK(small.bytes() == 4096);
    CHECK(f.device->impl().allocator->allocated().device.reserved_bytes == 4096);
}

TEST_CASE("allocation waits for memory that the device still uses before it fails") {
    const Fixture f;
    const vk::Pipeline pipeline = make_add_one(*f.device);
    constexpr uint64_t bytes = 2 * mebibyte; // the most that shares a block of 16 MiB
    const auto create = [&](std::string_view label) {
        return must(vk::Buffer::create(*f.device, vk::MemoryDomain::device, bytes, label));
    };
    auto used = std::make_unique<vk::Buffer>(create("used"));
    const vk::Range range = used->range();
    std::vector<vk::Buffer> rest;
    for (int i = 1; i < 8; ++i)
        rest.push_back(create("rest of the block"));
    f.limit_allocations(0);
    auto recorder = must(vk::Recorder::create(*f.device));
    for (int i = 0; i < 20; ++i) {
        add_one(recorder, pipeline, range, range, 20);
        recorder.barrier();
    }
    const uint64_t value = must(f.device->submit(must(recorder.finish())));
    used.reset();
    REQUIRE(f.device->completed() < value); // else this test shows nothing
    const auto next = create("next");
    CHECK(f.device->completed() >= value);
    CHECK(next.range().address == range.address);
}

TEST_CASE("a device that is lost on submission is an error, and everything can still be destroyed") {
    const Fixture f;
    const vk::Pipeline pipeline = make_add_one(*f.device);
    const auto buffer = must(vk::Buffer::create(*f.device, vk::MemoryDomain::device, 400, "words"));
    auto recorder = must(vk::Recorder::create(*f.device));
    add_one(recorder, pipeline, buffer.range(), buffer.range());
    auto commands = must(recorder.finish());
    f.functions.vkQueueSubmit = lose_device;
    const auto submitted = f.device->submit(std::move(commands));
    REQUIRE_FALSE(submitted);
    CHECK(submitted.error().kind == ErrorKind::device_lost);
    CHECK(f.device->is_lost());
    CHECK(submitted.error().message == "submitting work to the device failed with VK_ERROR_DEVICE_LOST");
    CHECK_FALSE(submitted.error().hint.empty());
    CHECK(f.device->wait(1).error().kind == ErrorKind::invalid_argument); // it was never submitted
}

TEST_CASE("a device that is lost while it is waited for is an error") {
    const Fixture f;
    auto recorder = must(vk::Recorder::create(*f.device));
    const uint64_t value = must(f.device->submit(must(recorder.finish())));
    CHECK_FALSE(f.device->is_lost());
    const auto driver_wait = f.functions.vkWaitSemaphores;
    f.functions.vkWaitSemaphores = lose_device_while_waiting;
    const auto waited = f.device->wait(value);
    f.functions.vkWaitSemaphores = driver_wait;
    REQUIRE_FALSE(waited);
    CHECK(waited.error().kind == ErrorKind::device_lost);
    CHECK(f.device->is_lost());
    must(f.device->wait(value));
}
