#include "core/vk/buffer.hpp"
#include "core/vk/sub_allocator.hpp"
#include "tests/vk/shaders.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

using namespace etna;
using namespace etna::test;

TEST_CASE("bytes survive upload, device and readback memory, at odd offsets") {
    auto& device = gpu().device;
    for (const uint64_t bytes : {1U, 3U, 255U, 256U, 257U, 100003U}) {
        for (const uint64_t offset : {0U, 1U, 7U, 64U}) {
            CAPTURE(bytes, offset);
            auto upload =
                must(vk::Buffer::create(device, vk::MemoryDomain::upload, bytes + offset, "upload"));
            auto middle =
                must(vk::Buffer::create(device, vk::MemoryDomain::device, bytes + 2 * offset, "middle"));
            auto readback =
                must(vk::Buffer::create(device, vk::MemoryDomain::readback, bytes + offset, "readback"));
            REQUIRE(upload.mapped().size() == bytes + offset);
            for (uint64_t i = 0; i < bytes; ++i)
                upload.mapped()[i + offset] = static_cast<std::byte>(i * 31 + offset);
            auto recorder = must(vk::Recorder::create(device));
            recorder.copy(upload, offset, middle, 2 * offset, bytes);
            recorder.barrier();
            recorder.copy(middle, 2 * offset, readback, offset, bytes);
            run(device, recorder);
            REQUIRE(std::memcmp(upload.mapped().data() + offset, readback.mapped().data() + offset, bytes) ==
                    0);
        }
    }
}

TEST_CASE("fill writes its word into the part and nothing else") {
    auto& device = gpu().device;
    auto buffer = must(vk::Buffer::create(device, vk::MemoryDomain::device, 64 * 4, "filled"));
    auto recorder = must(vk::Recorder::create(device));
    recorder.fill(buffer, 0, 64 * 4, 1);
    recorder.barrier();
    recorder.fill(buffer, 12, 20, 0xdeadbeef);
    run(device, recorder);
    std::vector<uint32_t> expected(64, 1);
    std::fill_n(expected.begin() + 3, 5, 0xdeadbeef);
    CHECK(read_words(device, buffer, 64) == expected);
}

TEST_CASE("every buffer has a distinct, aligned address") {
    auto& device = gpu().device;
    std::vector<vk::Buffer> buffers;
    for (const auto memory :
         {vk::MemoryDomain::device, vk::MemoryDomain::upload, vk::MemoryDomain::readback}) {
        for (uint64_t bytes = 1; bytes < 5000; bytes = bytes * 3 + 1)
            buffers.push_back(must(vk::Buffer::create(device, memory, bytes, "one of many")));
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
        CHECK(buffers[i].range().address % vk::allocation_alignment == 0);
        for (size_t j = 0; j < i; ++j)
            CHECK_FALSE(buffers[i].range().overlaps(buffers[j].range()));
    }
}

TEST_CASE("an empty buffer has no range, and moving empties the source") {
    vk::Buffer empty;
    CHECK(empty.bytes() == 0);
    CHECK(empty.mapped().empty());
    CHECK(empty.range().bytes == 0);
    auto buffer = must(vk::Buffer::create(gpu().device, vk::MemoryDomain::upload, 10, "moved"));
    empty = std::move(buffer);
    CHECK(empty.bytes() == 10);
    CHECK(empty.mapped().size() == 10);
}

TEST_CASE("a size that cannot be allocated is an error that names the buffer") {
    auto& device = gpu().device;
    const auto none = vk::Buffer::create(device, vk::MemoryDomain::device, 0, "nothing");
    REQUIRE_FALSE(none);
    CHECK(none.error().kind == ErrorKind::invalid_argument);
    CHECK(none.error().message == "buffer `nothing` has no bytes");
    const uint64_t limit = device.profile().allocation_bytes_max;
    for (const uint64_t bytes : {limit, limit + 1, limit - 1, ~uint64_t{0}, ~uint64_t{0} - 300}) {
        const auto large = vk::Buffer::create(device, vk::MemoryDomain::device, bytes, "too large");
        CAPTURE(bytes);
        REQUIRE_FALSE(large);
        CHECK(large.error().kind == ErrorKind::invalid_argument);
        CHECK(large.error().message.find("buffer `too large`") == 0);
    }
}
