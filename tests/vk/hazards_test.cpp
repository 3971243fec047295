#include "core/vk/hazards.hpp"
#include "tests/support/catch.hpp"

#include <vector>

using etna::vk::Hazards;
using etna::vk::Range;

namespace {

using Ranges = std::vector<Range>;

const Range first{0x1000, 0x100};
const Range second{0x10ff, 0x100}; // shares one byte with the first
const Range neighbour{0x1100, 0x100};

/// Whether a step conflicts with one before it.
bool conflict(const Ranges& reads_before, const Ranges& writes_before, const Ranges& reads,
              const Ranges& writes) {
    Hazards hazards;
    hazards.add(reads_before, writes_before);
    return hazards.conflict(reads, writes);
}

} // namespace

TEST_CASE("steps conflict if they share a byte that one of them writes") {
    CHECK(conflict({}, {first}, {second}, {})); // read after write
    CHECK(conflict({first}, {}, {}, {second})); // write after read
    CHECK(conflict({}, {first}, {}, {second})); // write after write
    CHECK_FALSE(conflict({first}, {}, {second}, {}));
    CHECK_FALSE(conflict({}, {first}, {neighbour}, {neighbour}));
    CHECK_FALSE(conflict({}, {first}, {{0xf00, 0x100}}, {}));
    CHECK_FALSE(conflict({first}, {first}, {}, {}));
    CHECK_FALSE(conflict({}, {first}, {{0x1010, 0}}, {{0x1020, 0}})); // empty ranges
    CHECK_FALSE(conflict({{0x1010, 0}}, {{0x1020, 0}}, {first}, {first}));
}

TEST_CASE("a step conflicts with any one since the last barrier, and with none before it") {
    Hazards hazards;
    CHECK_FALSE(hazards.conflict(Ranges{first}, Ranges{first}));
    for (uint64_t i = 0; i < 1000; ++i)
        hazards.add(Ranges{{0x10000 + i * 16, 16}}, Ranges{{0x80000 + i * 16, 16}});
    CHECK(hazards.conflict(Ranges{{0x80000 + 500 * 16 + 15, 1}}, {}));
    CHECK(hazards.conflict({}, Ranges{{0x10000, 1}}));
    CHECK_FALSE(hazards.conflict(Ranges{{0x10000, 16'000}}, {}));
    hazards.clear();
    CHECK_FALSE(hazards.conflict(Ranges{{0x80000 + 500 * 16 + 15, 1}}, Ranges{{0x10000, 1}}));
}
