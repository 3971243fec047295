#include "core/grammar/numbers_by_hash.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <random>

using etna::grammar::NumbersByHash;

TEST_CASE("numbers are found under their hashes, also where those are the same in part or whole") {
    std::mt19937_64 random(1);
    for (const uint64_t mask : {UINT64_MAX, uint64_t{0xFF}, uint64_t{7} << 40, uint64_t{0}}) {
        NumbersByHash numbers;
        std::multimap<uint64_t, uint32_t> expected;
        std::size_t looks = 0;
        CHECK(!numbers.find(0, [](uint32_t) { return true; }, looks));
        for (uint32_t number = 0; number < 500; ++number) {
            const uint64_t hash = random() & mask;
            expected.emplace(hash, number);
            numbers.add(hash, number);
        }
        for (const auto& [hash, number] : expected) {
            const auto found = numbers.find(hash, [&](uint32_t other) { return other == number; }, looks);
            CHECK(found == number);
            CHECK(looks <= expected.size() + 1);
            CHECK(!numbers.find(hash, [](uint32_t) { return false; }, looks));
        }
    }
}

TEST_CASE("looks tell where numbers lie in each other's way") {
    NumbersByHash apart;
    NumbersByHash together;
    for (uint32_t number = 0; number < 1000; ++number) {
        apart.add(number * 2654435761U, number);
        together.add(42, number);
    }
    std::size_t looks = 0;
    REQUIRE(apart.find(999 * std::size_t{2654435761U}, [](uint32_t number) { return number == 999; }, looks));
    CHECK(looks < 10);
    REQUIRE(together.find(42, [](uint32_t number) { return number == 999; }, looks));
    CHECK(looks == 1000);
}
