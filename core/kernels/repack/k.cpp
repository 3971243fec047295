// Blocks of 256 elements under one binary16 scale d (and dmin), in sub-blocks of 16 or 32 with integer scales
// (and minima). Layouts: structs block_q2_K to block_q6_K of ggml-common.h.
#include "core/kernels/repack/row.hpp"

namespace etna::kernels {
namespace {

constexpr uint32_t blocks_of_32 = 8;
constexpr std::size_t scale_words = 5;

/// Bits [shift, shift + n) of 32 neighbouring bytes, with `mask` = n ones in each byte.
Codes bits_of_bytes(const std::byte* bytes, uint32_t shift, uint32_t mask) {
    Codes codes{};
    for (uint32_t group = 0; group < codes.size(); ++group)
        codes[group] = word_at(bytes + std::size_t{4} * group) >> shift & mask;
    return codes;
}

void add_bits(Codes& codes, const Codes& above, uint32_t shift) {
    for (uint32_t group = 0; group < codes.size(); ++group)
        codes[group] |= above[group] << shift;
}

/// Eight scales and eight minima of six bits in 12 bytes, written as pairs of bytes. The first four pairs
/// have their bits together; of the others, bytes 8 to 11 hold the lower four bits, and the two bits left
/// over in bytes 0 to 7 the upper ones.
void put_six_bit_pairs(const std::byte* bytes, uint32_t* words) {
    for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t scale = byte_at(bytes + i);
        const uint32_t minimum = byte_at(bytes + 4 + i);
        const uint32_t lower = byte_at(bytes + 8 + i);
        put_byte(words, 2 * i, scale & 63);
        put_byte(words, 2 * i + 1, minimum & 63);
        put_byte(words, 8 + 2 * i, (lower & 15) | scale >> 6 << 4);
        put_byte(words, 8 + 2 * i + 1, lower >> 4 | minimum >> 6 << 4);
    }
}

/// d, dmin, and the pairs, of a block of Q4_K or Q5_K; a tile's record is as in the file.
void put_pair_scales(const std::byte* bytes, uint32_t block, RowWords& row) {
    if (row.is_tiled) {
        std::memcpy(row.scales + std::size_t{4} * block, bytes, 16);
        return;
    }
    uint32_t* scales = row.scales + scale_words * block;
    scales[0] = word_at(bytes);
    put_six_bit_pairs(bytes + 4, scales + 1);
}

} // namespace

// 84 bytes: a byte for 16 elements with scale and minimum, two bits of each element, d, dmin.
void repack_q2_k(const std::byte* bytes, uint32_t block, RowWords& row) {
    uint32_t* scales = row.scales + scale_words * block;
    scales[0] = word_at(bytes + 80);
    std::memcpy(scales + 1, bytes, 16);
    for (uint32_t i = 0; i < blocks_of_32; ++i) {
        const Codes codes = bits_of_bytes(bytes + 16 + std::size_t{32} * (i / 4), 2 * (i % 4), 0x03030303);
        row.put(codes, 0, 2, row.low + std::size_t{2} * (blocks_of_32 * block + i));
    }
}

// 110 bytes: the third bit of each element, the lower two, sixteen scales of six bits with 32 added, d.
void repack_q3_k(const std::byte* bytes, uint32_t block, RowWords& row) {
    uint32_t* scales = row.scales + scale_words * block;
    scales[0] = half_at(bytes + 108);
    for (uint32_t i = 0; i < 16; ++i) {
        const uint32_t lower = byte_at(bytes + 96 + i % 8) >> (i < 8 ? 0 : 4) & 15;
        const uint32_t upper = byte_at(bytes + 104 + i % 4) >> (2 * (i / 4)) & 3;
        put_byte(scales + 1, i, (lower | upper << 4) - 32);
    }
    for (uint32_t i = 0; i < blocks_of_32; ++i) {
        Codes codes = bits_of_bytes(bytes + 32 + std::size_t{32} * (i / 4), 2 * (i % 4), 0x03030303);
        add_bits(codes, bits_of_bytes(bytes, i, 0x01010101), 2);
        row.put(codes, 0, 2, row.low + std::size_t{2} * (blocks_of_32 * block + i));
        row.put(codes, 2, 1, row.high + std::size_t{blocks_of_32} * block + i);
    }
}

// 144 bytes: d, dmin, scales and minima of 32 elements, nibbles: 32 bytes for two sub-blocks.
void repack_q4_k(const std::byte* bytes, uint32_t block, RowWords& row) {
    put_pair_scales(bytes, block, row);
    for (uint32_t i = 0; i < blocks_of_32; ++i) {
        const Codes codes = bits_of_bytes(bytes + 16 + std::size_t{32} * (i / 2), 4 * (i % 2), 0x0F0F0F0F);
        row.put(codes, 0, 4, row.low + std::size_t{4} * (blocks_of_32 * block + i));
    }
}

// 176 bytes: as Q4_K, with the fifth bits of all elements before the nibbles.
void repack_q5_k(const std::byte* bytes, uint32_t block, RowWords& row) {
    put_pair_scales(bytes, block, row);
    for (uint32_t i = 0; i < blocks_of_32; ++i) {
        const Codes codes = bits_of_bytes(bytes + 48 + std::size_t{32} * (i / 2), 4 * (i % 2), 0x0F0F0F0F);
        row.put(codes, 0, 4, row.low + std::size_t{4} * (blocks_of_32 * block + i));
        row.put(bits_of_bytes(bytes + 16, i, 0x01010101), 0, 1,
                row.high + std::size_t{blocks_of_32} * block + i);
    }
}

// 210 bytes: the lower four bits, the upper two, sixteen signed scales, d. A half of 128 elements has 64
// bytes of nibbles, the low ones for its first two sub-blocks of 32, and 32 bytes of upper bits.
void repack_q6_k(const std::byte* bytes, uint32_t block, RowWords& row) {
    uint32_t* scales = row.scales + scale_words * block;
    scales[0] = half_at(bytes + 208);
    std::memcpy(scales + 1, bytes + 192, 16);
    for (uint32_t i = 0; i < blocks_of_32; ++i) {
        const std::byte* nibbles = bytes + std::size_t{64} * (i / 4) + std::size_t{32} * (i % 2);
        const Codes low = bits_of_bytes(nibbles, 4 * (i % 4 / 2), 0x0F0F0F0F);
        const Codes high = bits_of_bytes(bytes + 128 + std::size_t{32} * (i / 4), 2 * (i % 4), 0x03030303);
        row.put(low, 0, 4, row.low + std::size_t{4} * (blocks_of_32 * block + i));
        row.put(high, 0, 2, row.high + std::size_t{2} * (blocks_of_32 * block + i));
    }
}

} // namespace etna::kernels
