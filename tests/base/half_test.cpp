#include "core/base/half.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

using namespace etna;

TEST_CASE("binary16 values of every kind become the float they are worth") {
    REQUIRE(half_to_float(0x3C00) == 1.0F);
    REQUIRE(half_to_float(0xC000) == -2.0F);
    REQUIRE(half_to_float(0x7BFF) == 65504.0F);
    REQUIRE(half_to_float(0x0400) == 0x1p-14F); // smallest normal
    REQUIRE(half_to_float(0x03FF) == 1023 * 0x1p-24F);
    REQUIRE(half_to_float(0x8001) == -0x1p-24F);
    REQUIRE((half_to_float(0x8000) == 0 && std::signbit(half_to_float(0x8000))));
    REQUIRE(std::isinf(half_to_float(0x7C00)));
    REQUIRE(half_to_float(0xFC00) == -INFINITY);
    REQUIRE(std::isnan(half_to_float(0x7C01)));
}

TEST_CASE("every finite binary16 is sign x fraction x power of two") {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const int exponent = static_cast<int>((bits >> 10U) & 31U);
        if (exponent == 31)
            continue;
        const int fraction = static_cast<int>(bits & 1023U);
        const double magnitude =
            exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
        INFO(bits);
        REQUIRE(half_to_float(static_cast<uint16_t>(bits)) ==
                ((bits & 0x8000U) != 0 ? -magnitude : magnitude));
    }
}

TEST_CASE("bfloat16 is the upper half of a float") {
    REQUIRE(bfloat16_to_float(0x3F80) == 1.0F);
    REQUIRE(bfloat16_to_float(0xC049) == -3.140625F);
}
