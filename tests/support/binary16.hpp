#pragma once

#include <cstdint>

namespace etna::test {

/// IEEE 754 binary16, rounded to nearest, ties to even. Finite input.
uint16_t to_half(float value);

/// Exact. Finite input.
float from_half(uint16_t half);

/// The upper half of a float, rounded to nearest, ties to even. Finite input.
uint16_t to_bfloat16(float value);

} // namespace etna::test
