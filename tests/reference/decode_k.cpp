// Blocks of 256 elements q in sub-blocks of 16 or 32, each with an integer scale s (and, in Q2, Q4 and Q5, an
// integer minimum m), under one binary16 scale d (and dmin) per block:
//   Q2, Q4, Q5: d * s * q - dmin * m    Q3, Q6: d * s * (q - half of q's range)
// Layouts: structs block_q2_K to block_q6_K of ggml/src/ggml-common.h, packed as in ggml/src/ggml-quants.c.
#include "tests/reference/decode.hpp"
#include "tests/reference/decode_blocks.hpp"

namespace etna::reference {
namespace {

constexpr std::size_t k_elements = 256;

// The block as two halves of 128 elements, each as four runs of 32: run r of a half lies in bits 2r and 2r +
// 1 of the half's 32 bytes. Q2, Q3 and the upper bits of Q6.
int two_bits(const std::byte* bytes, std::size_t index) {
    return bits_of(bytes + 32 * (index / 128) + index % 32, 2 * (index / 32 % 4), 2);
}

// Each pair of 32-element sub-blocks shares 32 bytes: the first has the low halves, the second the high ones.
int paired_nibble(const std::byte* bytes, std::size_t index) {
    return bits_of(bytes + 32 * (index / 64) + index % 32, 4 * (index / 32 % 2), 4);
}

// Sub-block i's bit lies in bit i of 32 bytes, one byte for the elements with the same index. Q3 and Q5.
int plane_bit(const std::byte* bytes, std::size_t index) {
    return bits_of(bytes + index % 32, index / 32, 1);
}

struct ScaleAndMinimum {
    int scale;
    int minimum;
};

// Eight scales and eight minima of 6 bits in 12 bytes. Of the first four sub-blocks, byte j has the scale and
// byte 4 + j the minimum in their low six bits. Of the others, byte 4 + j has the low four bits of both,
// scale below, and the two bits left over in bytes j - 4 (scale) and j (minimum) are the upper ones. Q4 and
// Q5.
ScaleAndMinimum six_bit_pair(const std::byte* bytes, std::size_t j) {
    if (j < 4)
        return {bits_of(bytes + j, 0, 6), bits_of(bytes + 4 + j, 0, 6)};
    return {bits_of(bytes + 4 + j, 0, 4) | bits_of(bytes + j - 4, 6, 2) << 4,
            bits_of(bytes + 4 + j, 4, 4) | bits_of(bytes + j, 6, 2) << 4};
}

// Sixteen scales of 6 bits in 12 bytes: the low four bits of scale i in a half of byte i % 8 (low halves
// first), the upper two in bits 2 * (i / 4) of byte 8 + i % 4. Stored with 32 added. Q3.
int six_bit_scale(const std::byte* bytes, std::size_t i) {
    const int low = bits_of(bytes + i % 8, i < 8 ? 0 : 4, 4);
    const int high = bits_of(bytes + 8 + i % 4, 2 * (i / 4), 2);
    return (low | high << 4) - 32;
}

} // namespace

// 84 bytes: a byte per 16 elements at 0 (scale in the low half, minimum in the high one), two bits per
// element at 16, d at 80, dmin at 82.
void decode_q2_k(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes + 80));
    const double minimum_scale = half_to_double(load<uint16_t>(bytes + 82));
    for (std::size_t i = 0; i < k_elements; ++i) {
        const std::byte* sub_block = bytes + i / 16;
        elements[i] = {scale * bits_of(sub_block, 0, 4), double(two_bits(bytes + 16, i)),
                       -minimum_scale * bits_of(sub_block, 4, 4)};
    }
}

// 110 bytes: the third bit of each element at 0, the lower two at 32, scales of 16 elements at 96, d at 108.
void decode_q3_k(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes + 108));
    for (std::size_t i = 0; i < k_elements; ++i) {
        const int quantum = two_bits(bytes + 32, i) | plane_bit(bytes, i) << 2;
        elements[i] = {scale * six_bit_scale(bytes + 96, i / 16), double(quantum - 4), no_offset};
    }
}

// 144 bytes: d at 0, dmin at 2, scales and minima of 32 elements at 4, nibbles at 16.
void decode_q4_k(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes));
    const double minimum_scale = half_to_double(load<uint16_t>(bytes + 2));
    for (std::size_t i = 0; i < k_elements; ++i) {
        const ScaleAndMinimum sub_block = six_bit_pair(bytes + 4, i / 32);
        elements[i] = {scale * sub_block.scale, double(paired_nibble(bytes + 16, i)),
                       -minimum_scale * sub_block.minimum};
    }
}

// 176 bytes: d at 0, dmin at 2, scales and minima of 32 elements at 4, the fifth bit of each element at 16,
// the lower four at 48.
void decode_q5_k(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes));
    const double minimum_scale = half_to_double(load<uint16_t>(bytes + 2));
    for (std::size_t i = 0; i < k_elements; ++i) {
        const ScaleAndMinimum sub_block = six_bit_pair(bytes + 4, i / 32);
        const int quantum = paired_nibble(bytes + 48, i) | plane_bit(bytes + 16, i) << 4;
        elements[i] = {scale * sub_block.scale, double(quantum), -minimum_scale * sub_block.minimum};
    }
}

// 210 bytes: the lower four bits at 0, the upper two at 128, signed scales of 16 elements at 192, d at 208.
// Each half of 128 elements has 64 bytes of nibbles: its first 64 elements the low halves, the others the
// high ones.
void decode_q6_k(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes + 208));
    for (std::size_t i = 0; i < k_elements; ++i) {
        const int low = bits_of(bytes + 64 * (i / 128) + i % 64, 4 * (i / 64 % 2), 4);
        const int quantum = low | two_bits(bytes + 128, i) << 4;
        elements[i] = {scale * load<int8_t>(bytes + 192 + i / 16), double(quantum - 32), no_offset};
    }
}

} // namespace etna::reference
