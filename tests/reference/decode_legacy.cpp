// Blocks of 32 elements q with a binary16 scale d and, in the formats _1, a binary16 minimum m:
//   _0: d * (q - half of q's range)    _1: d * q + m
// Layouts: structs block_q4_0 to block_q8_0 of ggml/src/ggml-common.h.
#include "tests/reference/decode.hpp"
#include "tests/reference/decode_blocks.hpp"

namespace etna::reference {
namespace {

constexpr std::size_t legacy_elements = 32;

// Five bits: the lower four as split nibbles, the fifth of element i in bit i of a 32-bit word.
int five_bits(const std::byte* nibbles, const std::byte* fifth_bits, std::size_t index) {
    return split_nibble(nibbles, index) | bits_of(fifth_bits + index / 8, index % 8, 1) << 4;
}

} // namespace

// 18 bytes: d at 0, nibbles at 2.
void decode_q4_0(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes));
    for (std::size_t i = 0; i < legacy_elements; ++i)
        elements[i] = {scale, double((split_nibble(bytes + 2, i) - 8)), no_offset};
}

// 20 bytes: d at 0, m at 2, nibbles at 4.
void decode_q4_1(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes));
    const double minimum = half_to_double(load<uint16_t>(bytes + 2));
    for (std::size_t i = 0; i < legacy_elements; ++i)
        elements[i] = {scale, double(split_nibble(bytes + 4, i)), minimum};
}

// 22 bytes: d at 0, fifth bits at 2, nibbles at 6.
void decode_q5_0(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes));
    for (std::size_t i = 0; i < legacy_elements; ++i)
        elements[i] = {scale, double((five_bits(bytes + 6, bytes + 2, i) - 16)), no_offset};
}

// 24 bytes: d at 0, m at 2, fifth bits at 4, nibbles at 8.
void decode_q5_1(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes));
    const double minimum = half_to_double(load<uint16_t>(bytes + 2));
    for (std::size_t i = 0; i < legacy_elements; ++i)
        elements[i] = {scale, double(five_bits(bytes + 8, bytes + 4, i)), minimum};
}

// 34 bytes: d at 0, signed bytes at 2; d * q.
void decode_q8_0(const std::byte* bytes, Element* elements) {
    const double scale = half_to_double(load<uint16_t>(bytes));
    for (std::size_t i = 0; i < legacy_elements; ++i)
        elements[i] = {scale, double(load<int8_t>(bytes + 2 + i)), no_offset};
}

} // namespace etna::reference
