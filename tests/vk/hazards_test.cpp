#include "core/vk/hazards.hpp"
#include "tests/support/catch.hpp"

#include <vector>

using etna::ErrorKind;
using etna::vk::HazardCheck;
using etna::vk::Range;

namespace {

using Ranges = std::vector<Range>;

etna::Status add(HazardCheck& check, const char* label, const Ranges& reads, const Ranges& writes) {
    return check.add(label, reads, writes);
}

} // namespace

TEST_CASE("each kind of conflict is found and named") {
    const Range first{0x1000, 0x100};
    const Range second{0x10ff, 0x100}; // shares one byte
    SECTION("read after write") {
        HazardCheck check;
        REQUIRE(add(check, "a", {}, {first}));
        const auto result = add(check, "b", {second}, {});
        REQUIRE_FALSE(result);
        CHECK(result.error().kind == ErrorKind::internal);
        CHECK(result.error().message ==
              "no barrier between `a`, which writes [0x1000, 0x1100), and `b`, which reads [0x10ff, 0x11ff)");
    }
    SECTION("write after read") {
        HazardCheck check;
        REQUIRE(add(check, "a", {first}, {}));
        const auto result = add(check, "b", {}, {second});
        REQUIRE_FALSE(result);
        CHECK(result.error().message ==
              "no barrier between `a`, which reads [0x1000, 0x1100), and `b`, which writes [0x10ff, 0x11ff)");
    }
    SECTION("write after write") {
        HazardCheck check;
        REQUIRE(add(check, "a", {}, {first}));
        const auto result = add(check, "b", {}, {second});
        REQUIRE_FALSE(result);
        CHECK(
            result.error().message ==
            "no barrier between `a`, which writes [0x1000, 0x1100), and `b`, which writes [0x10ff, 0x11ff)");
    }
}

TEST_CASE("accesses without conflict pass") {
    const Range first{0x1000, 0x100};
    const Range neighbour{0x1100, 0x100};
    HazardCheck check;
    SECTION("reads of the same bytes") {
        CHECK(add(check, "a", {first}, {}));
        CHECK(add(check, "b", {first}, {}));
    }
    SECTION("neighbours") {
        CHECK(add(check, "a", {}, {first}));
        CHECK(add(check, "b", {neighbour}, {}));
        CHECK(add(check, "c", {}, {{0xf00, 0x100}}));
    }
    SECTION("one step that reads the range it writes") {
        CHECK(add(check, "a", {first}, {first}));
    }
    SECTION("empty ranges") {
        CHECK(add(check, "a", {}, {first}));
        CHECK(add(check, "b", {{0x1010, 0}}, {{0x1020, 0}}));
    }
    SECTION("a barrier between") {
        CHECK(add(check, "a", {}, {first}));
        check.barrier();
        CHECK(add(check, "b", {first}, {neighbour}));
        check.barrier();
        CHECK(add(check, "c", {}, {first}));
    }
}

TEST_CASE("a conflict is found across many steps, but not across a barrier") {
    HazardCheck check;
    for (uint64_t i = 0; i < 1000; ++i)
        REQUIRE(add(check, "many", {{0x10000 + i * 16, 16}}, {{0x80000 + i * 16, 16}}));
    CHECK_FALSE(add(check, "late", {{0x80000 + 500 * 16 + 15, 1}}, {}));
    CHECK_FALSE(add(check, "late", {}, {{0x10000, 1}}));
    check.barrier();
    CHECK(add(check, "late", {{0x80000 + 500 * 16 + 15, 1}}, {{0x10000, 1}}));
}
