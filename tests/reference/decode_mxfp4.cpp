// MXFP4 of the OCP Microscaling Formats specification 1.0: 32 elements of E2M1 (sign, two bits of exponent,
// one of fraction) under a power of two, E8M0 (a binary exponent with bias 127).
#include "tests/reference/decode_blocks.hpp"

#include <array>
#include <cmath>

namespace etna::reference {
namespace {

constexpr std::size_t mxfp4_elements = 32;
constexpr int exponent_bias = 127;
constexpr std::array<double, 8> magnitudes = {0, 0.5, 1, 1.5, 2, 3, 4, 6}; // of E2M1, by its lower three bits

} // namespace

// 17 bytes (struct block_mxfp4 of ggml/src/ggml-common.h): the exponent at 0, nibbles at 1. Exponent 255 is
// NaN in the specification; ggml reads it as 2^128, and so do we. A negative zero becomes zero, as in ggml's
// table of integers.
void decode_mxfp4(const std::byte* bytes, Element* elements) {
    const double scale = std::ldexp(1.0, bits_of(bytes, 0, 8) - exponent_bias);
    for (std::size_t i = 0; i < mxfp4_elements; ++i) {
        const int code = split_nibble(bytes + 1, i);
        const double magnitude = magnitudes[code % 8];
        elements[i] = {scale, code > 8 ? -magnitude : magnitude, no_offset};
    }
}

} // namespace etna::reference
