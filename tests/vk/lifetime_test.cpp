// Lifetime of memory, pipelines and command buffers that the device is still using.
#include "core/vk/impl.hpp"
#include "tests/vk/shaders.hpp"

#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

/// A separate device, so that its allocator has no other allocations.
struct LifetimeFixture {
    std::unique_ptr<vk::Device> device =
        must(vk::Device::create(gpu().instance, gpu().physical, gpu().options));

    [[nodiscard]] vk::Allocator& allocator() const { return *device->impl().allocator; }
    [[nodiscard]] vk::Buffer buffer(uint64_t bytes) const {
        return must(vk::Buffer::create(*device, vk::MemoryDomain::device, bytes, "test"));
    }
};

constexpr uint64_t work_bytes = 4 * mebibyte;

/// Starts work on `buffer` that takes the device long enough to be observed.
uint64_t start_long_work(vk::Device& device, const vk::Pipeline& pipeline, const vk::Range& range) {
    auto recorder = must(vk::Recorder::create(device));
    for (int i = 0; i < 6; ++i) {
        add_one(recorder, pipeline, range, range, 20);
        recorder.barrier();
    }
    return must(device.submit(must(recorder.finish())));
}

} // namespace

TEST_CASE("memory is not reused while the device may use it") {
    const LifetimeFixture f;
    const vk::Pipeline pipeline = make_add_one(*f.device);
    const vk::Buffer keeper = f.buffer(256); // so that the block stays allocated
    auto used = std::make_unique<vk::Buffer>(f.buffer(work_bytes));
    const vk::Range range = used->range();
    const uint64_t value = start_long_work(*f.device, pipeline, range);
    used.reset();
    const vk::Buffer meanwhile = f.buffer(work_bytes);
    REQUIRE(f.device->completed() < value); // else this test shows nothing
    CHECK_FALSE(meanwhile.range().overlaps(range));
    must(f.device->wait(value));
    const vk::Buffer afterwards = f.buffer(work_bytes);
    CHECK(afterwards.range().address == range.address);
}

TEST_CASE("a pipeline may be destroyed while it runs") {
    const LifetimeFixture f;
    const vk::Buffer buffer = f.buffer(work_bytes);
    write_words(*f.device, buffer, std::vector<uint32_t>(work_bytes / 4, 7));
    uint64_t value = 0;
    {
        const vk::Pipeline pipeline = make_add_one(*f.device);
        value = start_long_work(*f.device, pipeline, buffer.range());
    }
    CHECK(f.device->completed() < value);
    CHECK(read_words(*f.device, buffer, work_bytes / 4) == std::vector<uint32_t>(work_bytes / 4, 7 + 6 * 20));
}

TEST_CASE("destroying a device waits for its work") {
    const LifetimeFixture f;
    const vk::Pipeline pipeline = make_add_one(*f.device);
    const vk::Buffer buffer = f.buffer(work_bytes);
    start_long_work(*f.device, pipeline, buffer.range());
    SUCCEED(); // the validation layer reports an object that is destroyed in use
}

TEST_CASE("blocks are shared and reused, and large buffers get dedicated allocations") {
    const LifetimeFixture f;
    CHECK(f.allocator().block_count() == 0);
    {
        std::vector<vk::Buffer> many;
        many.reserve(100);
        for (int i = 0; i < 100; ++i)
            many.push_back(f.buffer(100000));
        CHECK(f.allocator().block_count() == 1);
        const vk::Buffer large = f.buffer(40 * mebibyte);
        CHECK(f.allocator().block_count() == 2);
        const vk::AllocatedMemory memory = f.allocator().allocated();
        std::vector<uint64_t> sizes(100, 100000);
        sizes.push_back(40 * mebibyte);
        CHECK(memory.device.used_bytes == 100 * vk::allocation_bytes(100000) + 40 * mebibyte);
        CHECK(memory.device.reserved_bytes ==
              vk::reserved_bytes({.allocation_bytes_max = f.device->profile().allocation_bytes_max}, sizes));
    }
    CHECK(f.allocator().block_count() == 1); // one empty block is retained
    CHECK(f.allocator().allocated().device.reserved_bytes == 16 * mebibyte);
    CHECK(f.allocator().allocated().device.used_bytes == 0);
    std::vector<vk::Buffer> several;
    several.reserve(8);
    for (int i = 0; i < 8; ++i)
        several.push_back(f.buffer(7 * mebibyte));
    CHECK(f.allocator().block_count() >= 3);
    several.clear();
    CHECK(f.allocator().block_count() == 1);
}

TEST_CASE("a steady stream of submissions allocates no new command buffers") {
    const LifetimeFixture f;
    const vk::Pipeline pipeline = make_add_one(*f.device);
    const vk::Buffer buffer = f.buffer(4000);
    uint64_t previous = 0;
    for (int step = 0; step < 40; ++step) { // two in flight, as an executor does it
        auto recorder = must(vk::Recorder::create(*f.device));
        add_one(recorder, pipeline, buffer.range(), buffer.range());
        const uint64_t value = must(f.device->submit(must(recorder.finish())));
        if (previous != 0)
            must(f.device->wait(previous));
        previous = value;
    }
    must(f.device->wait(previous));
    CHECK(f.device->impl().contexts->size() <= 3);
    {
        auto abandoned = must(vk::Recorder::create(*f.device));
    }
    {
        auto recorder = must(vk::Recorder::create(*f.device));
        const auto unsubmitted = must(recorder.finish());
    }
    CHECK(f.device->impl().contexts->size() <= 3);
}
