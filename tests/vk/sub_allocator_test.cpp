#include "core/vk/sub_allocator.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <vector>

using etna::mebibyte;
using etna::vk::allocation_alignment;
using etna::vk::BlockPolicy;
using etna::vk::SubAllocator;

TEST_CASE("take() uses the smallest gap that fits, and no byte twice") {
    SubAllocator space(4096);
    CHECK(space.empty());
    REQUIRE(space.take(1024, 256) == 0);
    REQUIRE(space.take(512, 256) == 1024);
    REQUIRE(space.take(1024, 256) == 1536);
    CHECK_FALSE(space.take(2048, 256).has_value());
    space.free(1024, 512); // gaps: 512 bytes at 1024, 1536 bytes at 2560
    CHECK(space.take(256, 256) == 1024);
    CHECK(space.take(512, 256) == 2560);
    CHECK(space.largest_gap_bytes() == 1024);
}

TEST_CASE("a freed range merges with the gaps on both sides") {
    SubAllocator space(3072);
    REQUIRE(space.take(1024, 256) == 0);
    REQUIRE(space.take(1024, 256) == 1024);
    REQUIRE(space.take(1024, 256) == 2048);
    CHECK(space.largest_gap_bytes() == 0);
    space.free(0, 1024);
    space.free(2048, 1024);
    CHECK(space.largest_gap_bytes() == 1024);
    CHECK_FALSE(space.empty());
    space.free(1024, 1024);
    CHECK(space.empty());
    CHECK(space.take(3072, 256) == 0);
}

TEST_CASE("an alignment larger than the rest leaves the bytes before it usable") {
    SubAllocator space(8192);
    REQUIRE(space.take(256, 256) == 0);
    REQUIRE(space.take(1024, 4096) == 4096);
    CHECK(space.take(3840, 256) == 256);
    space.free(256, 3840);
    space.free(4096, 1024);
    space.free(0, 256);
    CHECK(space.empty());
    CHECK_FALSE(SubAllocator(4000).take(1, 8192) == 1);
    CHECK_FALSE(SubAllocator(4096).take(4097, 256).has_value());
}

TEST_CASE("ranges taken in random order never overlap, and freeing all leaves one gap") {
    struct Part {
        uint64_t offset, bytes;
    };
    for (uint32_t seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        SubAllocator space(mebibyte);
        std::vector<Part> parts;
        for (int step = 0; step < 400; ++step) {
            if (!parts.empty() && random() % 3 == 0) {
                const size_t which = random() % parts.size();
                space.free(parts[which].offset, parts[which].bytes);
                parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(which));
                continue;
            }
            const uint64_t bytes = 256 * (1 + random() % 100);
            const uint64_t alignment = uint64_t{256} << (random() % 4);
            const auto offset = space.take(bytes, alignment);
            if (!offset)
                continue;
            CAPTURE(seed, step, *offset, bytes, alignment);
            REQUIRE(*offset % alignment == 0);
            REQUIRE(*offset + bytes <= mebibyte);
            for (const Part& other : parts)
                REQUIRE((*offset + bytes <= other.offset || other.offset + other.bytes <= *offset));
            parts.push_back({*offset, bytes});
        }
        for (const Part& part : parts)
            space.free(part.offset, part.bytes);
        CAPTURE(seed);
        CHECK(space.empty());
    }
}

TEST_CASE("the block size grows with the reserved bytes, within its bounds") {
    const BlockPolicy policy{.allocation_bytes_max = uint64_t{1} << 40};
    CHECK(policy.next_block_bytes(0) == 16 * mebibyte);
    CHECK(policy.next_block_bytes(100 * mebibyte) == 64 * mebibyte);
    CHECK(policy.next_block_bytes(uint64_t{1} << 38) == 64 * mebibyte);
    CHECK_FALSE(policy.needs_own_allocation(2 * mebibyte, 0));
    CHECK(policy.needs_own_allocation(2 * mebibyte + 1, 0));
    CHECK_FALSE(policy.needs_own_allocation(8 * mebibyte, uint64_t{1} << 38));
}

TEST_CASE("allocations stay strictly below the device's maximum") {
    const BlockPolicy small{.allocation_bytes_max = 4 * mebibyte};
    CHECK(small.next_block_bytes(0) == 4 * mebibyte - allocation_alignment);
    CHECK(small.allows(small.next_block_bytes(0)));
    CHECK(small.allows(4 * mebibyte - 1));
    CHECK_FALSE(small.allows(4 * mebibyte));
    CHECK(BlockPolicy{.allocation_bytes_max = 0}.next_block_bytes(0) == 0);
}

TEST_CASE("the blocks of a list of buffers follow from their sizes") {
    const auto reserved = [](std::vector<uint64_t> buffers) {
        return etna::vk::reserved_bytes({.allocation_bytes_max = uint64_t{1} << 40}, buffers);
    };
    CHECK(reserved({}) == 0);
    CHECK(reserved({1}) == 16 * mebibyte);
    CHECK(reserved({8 * mebibyte, 8 * mebibyte}) == 16 * mebibyte);
    CHECK(reserved({8 * mebibyte, 8 * mebibyte, 1}) == 32 * mebibyte);
    CHECK(reserved(std::vector<uint64_t>(8, 2 * mebibyte)) == 16 * mebibyte);
    // Large buffers leave nothing unused.
    CHECK(reserved(std::vector<uint64_t>(56, 80 * mebibyte)) == 56 * 80 * mebibyte);
    CHECK(reserved({40 * mebibyte + 1}) == 40 * mebibyte + allocation_alignment);
    // A block as large as the power of two below what the pool has.
    CHECK(reserved({100 * mebibyte, 1}) == 164 * mebibyte);
    CHECK(etna::vk::reserved_bytes({.allocation_bytes_max = 4 * mebibyte}, std::vector<uint64_t>{1}) ==
          4 * mebibyte - allocation_alignment);
}
