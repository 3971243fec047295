#include "core/grammar/hash_index.hpp"
#include "core/grammar/language.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <random>
#include <utility>
#include <vector>

using namespace etna::grammar;

namespace {

/// Counts of a repeated expression, chosen so that their nodes have the same hash in Language except for 26
/// unused bits, or at random.
std::vector<std::pair<uint32_t, uint32_t>> counts_of(std::size_t size, Expression item, bool are_chosen) {
    constexpr uint64_t multiplier = 0x9E3779B97F4A7C15;
    constexpr uint64_t its_inverse = 0xF1DE83E19937733D;
    static_assert(multiplier * its_inverse == 1);
    const auto mix = [](uint64_t hash, uint64_t value) {
        hash = (hash ^ value) * multiplier;
        return hash ^ (hash >> 32);
    };
    const auto unmixed = [](uint64_t hash) { return (hash ^ (hash >> 32)) * its_inverse; };
    uint64_t before = static_cast<uint64_t>(Kind::repeat);
    for (const uint64_t word : {uint64_t{0}, uint64_t{0}, uint64_t{0}, uint64_t{0}, uint64_t{item}})
        before = mix(before, word);
    std::mt19937_64 random(1);
    std::vector<std::pair<uint32_t, uint32_t>> all;
    while (all.size() < size) {
        const uint64_t hash = (random() % (1U << 26) << 32) | 0x12345678;
        const uint64_t counts = are_chosen ? unmixed(unmixed(hash)) ^ before : random(); // the last word is 0
        const auto min = static_cast<uint32_t>(counts >> 32), max = static_cast<uint32_t>(counts);
        if (min >= 2 && min <= max && max != unbounded)
            all.emplace_back(min, max);
    }
    return all;
}

} // namespace

TEST_CASE("numbers are found under their hashes, even if those collide partly or completely") {
    std::mt19937_64 random(1);
    for (const uint64_t mask : {UINT64_MAX, uint64_t{0xFF}, uint64_t{7} << 40, uint64_t{0}}) {
        HashIndex numbers;
        std::multimap<uint64_t, uint32_t> expected;
        std::size_t probes = 0;
        CHECK(!numbers.find(0, [](uint32_t) { return true; }, probes));
        for (uint32_t number = 0; number < 500; ++number) {
            const uint64_t hash = random() & mask;
            expected.emplace(hash, number);
            numbers.add(hash, number);
        }
        for (const auto& [hash, number] : expected) {
            const auto found = numbers.find(hash, [&](uint32_t other) { return other == number; }, probes);
            CHECK(found == number);
            CHECK(probes <= expected.size() * (1 + HashIndex::probes_of_mismatch));
            CHECK(!numbers.find(hash, [](uint32_t) { return false; }, probes));
            const uint64_t other = hash ^ (uint64_t{1} << 20); // no mask leaves this bit alone
            if (mask != UINT64_MAX)
                CHECK(!numbers.find(other, [](uint32_t) { return true; }, probes));
        }
    }
}

TEST_CASE("the probe count shows collisions") {
    HashIndex apart;
    HashIndex together;
    for (uint32_t number = 0; number < 1000; ++number) {
        apart.add(number * 2654435761U, number);
        together.add(42, number);
    }
    std::size_t probes = 0;
    REQUIRE(
        apart.find(999 * std::size_t{2654435761U}, [](uint32_t number) { return number == 999; }, probes));
    CHECK(probes < 10);
    REQUIRE(together.find(42, [](uint32_t number) { return number == 999; }, probes));
    CHECK(probes == 1000 + 999 * HashIndex::probes_of_mismatch);
}

TEST_CASE("expressions that were chosen to collide are charged for their probes") {
    for (const bool are_chosen : {true, false}) {
        Language language;
        const Expression item = language.literal("a");
        constexpr uint64_t steps = 60'000'000;
        language.set_step_budget(steps, true);
        for (const auto& [min, max] : counts_of(10'000, item, are_chosen))
            static_cast<void>(language.repeat(item, min, max));
        INFO(steps - language.steps_left());
        CHECK(language.is_out_of_steps() == are_chosen);
    }
}
