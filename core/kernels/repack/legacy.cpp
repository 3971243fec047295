// Blocks of 32 elements with a binary16 scale d and, in the formats _1, a binary16 minimum m. Layouts:
// structs block_q4_0 to block_q8_0 of ggml-common.h.
#include "core/kernels/repack/row.hpp"

namespace etna::kernels {
namespace {

/// Adds the fifth bits, bit i of the word at `bytes` for element i.
void add_fifth_bits(const std::byte* bytes, Codes& codes) {
    const uint32_t bits = word_at(bytes);
    for (uint32_t group = 0; group < codes.size(); ++group) {
        const uint32_t four = bits >> (4 * group) & 0xF;
        codes[group] |= (four * 0x00204081U & 0x01010101U) << 4; // bit i of `four` to byte i
    }
}

} // namespace

// 34 bytes: d, 32 signed bytes.
void repack_q8_0(const std::byte* bytes, uint32_t block, RowWords& row) {
    put_half(row.scales, block, half_at(bytes));
    Codes codes;
    std::memcpy(codes.data(), bytes + 2, sizeof codes);
    row.put(codes, 0, 8, row.low + std::size_t{8} * block);
}

// 18 bytes: d, nibbles.
void repack_q4_0(const std::byte* bytes, uint32_t block, RowWords& row) {
    put_half(row.scales, block, half_at(bytes));
    row.put(split_nibbles(bytes + 2), 0, 4, row.low + std::size_t{4} * block);
}

// 20 bytes: d, m, nibbles.
void repack_q4_1(const std::byte* bytes, uint32_t block, RowWords& row) {
    row.scales[block] = word_at(bytes);
    row.put(split_nibbles(bytes + 4), 0, 4, row.low + std::size_t{4} * block);
}

// 22 bytes: d, fifth bits, nibbles.
void repack_q5_0(const std::byte* bytes, uint32_t block, RowWords& row) {
    put_half(row.scales, block, half_at(bytes));
    Codes codes = split_nibbles(bytes + 6);
    add_fifth_bits(bytes + 2, codes);
    row.put(codes, 0, 4, row.low + std::size_t{4} * block);
    row.put(codes, 4, 1, row.high + block);
}

// 24 bytes: d, m, fifth bits, nibbles.
void repack_q5_1(const std::byte* bytes, uint32_t block, RowWords& row) {
    row.scales[block] = word_at(bytes);
    Codes codes = split_nibbles(bytes + 8);
    add_fifth_bits(bytes + 4, codes);
    row.put(codes, 0, 4, row.low + std::size_t{4} * block);
    row.put(codes, 4, 1, row.high + block);
}

} // namespace etna::kernels
