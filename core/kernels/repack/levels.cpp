// Four bits that name one of sixteen levels, which the shaders know. Layouts: structs block_iq4_nl,
// block_iq4_xs and block_mxfp4 of ggml-common.h.
#include "core/kernels/repack/row.hpp"

namespace etna::kernels {
namespace {

/// 2^(exponent - 128) as bfloat16: half of the E8M0 scale, since the shaders' levels are doubled. The two
/// smallest are subnormal.
uint16_t half_of_scale(uint32_t exponent) {
    if (exponent < 2)
        return static_cast<uint16_t>(0x20U << exponent);
    return static_cast<uint16_t>((exponent - 1) << 7);
}

} // namespace

// 18 bytes: binary16 d, nibbles.
void repack_iq4_nl(const std::byte* bytes, uint32_t block, RowWords& row) {
    put_half(row.scales, block, half_at(bytes));
    row.put(split_nibbles(bytes + 2), 0, 4, row.low + std::size_t{4} * block);
}

// 136 bytes for 256 elements: binary16 d; a word of 16 bits with the upper two bits of the eight scales, four
// bytes with their lower four; the nibbles of each 32 elements. Scales are stored with 32 added.
void repack_iq4_xs(const std::byte* bytes, uint32_t block, RowWords& row) {
    uint32_t* scales = row.scales + std::size_t{3} * block;
    scales[0] = half_at(bytes);
    const uint32_t upper = half_at(bytes + 2);
    const uint32_t lower = word_at(bytes + 4);
    for (uint32_t i = 0; i < 8; ++i) {
        const uint32_t scale = (lower >> (4 * i) & 0xF) | (upper >> (2 * i) & 3) << 4;
        put_byte(scales + 1, i, scale - 32);
        row.put(split_nibbles(bytes + 8 + std::size_t{16} * i), 0, 4,
                row.low + std::size_t{4} * (8 * block + i));
    }
}

// 17 bytes: the exponent of the scale (E8M0, bias 127), nibbles.
void repack_mxfp4(const std::byte* bytes, uint32_t block, RowWords& row) {
    put_half(row.scales, block, half_of_scale(byte_at(bytes)));
    row.put(split_nibbles(bytes + 1), 0, 4, row.low + std::size_t{4} * block);
}

} // namespace etna::kernels
