#pragma once

#include <bit>
#include <cstdint>

namespace etna {

/// IEEE 754 binary16 to binary32, exactly; subnormals, infinities and NaN included.
constexpr float half_to_float(uint16_t half) {
    const uint32_t exponent = (half >> 10U) & 31U;
    const uint32_t fraction = half & 1023U;
    const uint32_t sign = uint32_t{half & 0x8000U} << 16U;
    if (exponent == 0) { // zero and subnormals: fraction x 2^-24
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
    }
    const uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);
    return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
}

/// bfloat16, the upper half of a binary32, to binary32.
constexpr float bfloat16_to_float(uint16_t bits) {
    return std::bit_cast<float>(uint32_t{bits} << 16U);
}

} // namespace etna
