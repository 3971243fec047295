#include "tests/support/binary16.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace etna::test {

uint16_t to_half(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
    const double magnitude = std::fabs(static_cast<double>(value));
    if (magnitude < 0x1p-14) // subnormal: multiples of 2^-24
        return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24)));
    const uint32_t rounded = (bits & 0x7fffffff) + 0xfff + ((bits >> 13) & 1);
    const uint32_t half = (rounded >> 13) - ((127 - 15) << 10);
    return static_cast<uint16_t>(sign | std::min<uint32_t>(half, 0x7c00));
}

float from_half(uint16_t half) {
    const int exponent = (half >> 10) & 31;
    const int mantissa = half & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    return static_cast<float>((half & 0x8000) != 0 ? -magnitude : magnitude);
}

uint16_t to_bfloat16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

} // namespace etna::test
