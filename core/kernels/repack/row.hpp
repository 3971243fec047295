#pragma once

#include "core/kernels/layout.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

// One row of a quantised matrix, from the file's blocks to the device's words. Each format has a function
// that splits a block into codes and scales, one file per family; the rest is shared.
namespace etna::kernels {

/// Codes of 32 consecutive elements: four per word, one per byte, the first in the lowest.
using Codes = std::array<uint32_t, 8>;

/// Order of eight neighbouring codes e0 to e7 among the bytes of two words.
enum class CodeOrder : uint8_t {
    neighbours, ///< (e0 e1 e2 e3) (e4 e5 e6 e7)
    /// (e0 e4 e1 e5) (e2 e6 e3 e7): one mask gives two neighbours in the halves of a word
    halves,
    nibbles, ///< (e0 e2 e4 e6) (e1 e3 e5 e7): a byte of the nibble plane has two neighbours
};

/// Device words of one row, all zero at first.
struct RowWords {
    uint32_t* low;    ///< plane of the codes' low bits
    uint32_t* high;   ///< plane of the bits above them
    uint32_t* scales; ///< as shaders/include/scales.glsl reads them; in tiles, head and record of each tile
    bool is_tiled = false;
    CodeOrder order = CodeOrder::neighbours;

    /// Writes the codes' bits [shift, shift + bits) into `bits` words of a plane (plane_codes.glsl).
    void put(const Codes& codes, uint32_t shift, uint32_t bits, uint32_t* words) const;
};

/// Writes one block of the file, `bytes`, into a row; `block` counts the row's blocks.
using RepackBlock = void(const std::byte* bytes, uint32_t block, RowWords& row);

/// Device layout of a format: mirrors the table of shaders/include/formats.glsl.
struct FormatShape {
    uint32_t block_columns; ///< of the file's block
    uint32_t block_bytes;
    uint32_t
        low_bits; ///< of a code; words that its plane has for 32 columns. Plain formats: all of the element's
    uint32_t high_bits;     ///< the same for the plane of high bits
    uint32_t scale_columns; ///< columns that `scale_words` serve, 0: no scales
    uint32_t scale_words;
    uint32_t record_words; ///< scales of a row of a tile, without the head: 2, 4 or 8
    uint32_t head_bytes;   ///< d, or d and m, of a row of a tile; 0: part of the record, or none
    CodeOrder tile_order;
    RepackBlock* repack; ///< null for formats that are stored unchanged
};
const FormatShape& shape_of(Format format);

/// Byte offsets of the sections of a tile of eight rows; the first section has the records.
struct TileShape {
    uint32_t head = 0;  ///< [8 rows][head_bytes]
    uint32_t low = 0;   ///< plane of low bits, [quad][8 rows][16 bytes]
    uint32_t high = 0;  ///< plane of high bits, the same
    uint32_t bytes = 0; ///< of the tile
};
TileShape tile_shape(Format format);

/// Words of one row; planes are padded to a multiple of four words.
struct RowSizes {
    uint32_t low = 0;
    uint32_t high = 0;
    uint32_t scales = 0;
};
RowSizes row_sizes(Format format, uint32_t columns);

/// The codes of 32 elements in an order, still four per word.
inline Codes in_order(const Codes& codes, CodeOrder order) {
    if (order == CodeOrder::neighbours)
        return codes;
    Codes ordered{};
    for (uint32_t i = 0; i < codes.size(); i += 2) {
        const uint32_t a = codes[i]; // e0 to e3
        const uint32_t b = codes[i + 1];
        if (order == CodeOrder::halves) {
            ordered[i] = (a & 0xFF) | (b & 0xFF) << 8 | (a & 0xFF00) << 8 | (b & 0xFF00) << 16;
            ordered[i + 1] = (a >> 16 & 0xFF) | (b >> 8 & 0xFF00) | (a >> 8 & 0xFF0000) | (b & 0xFF000000);
        } else {
            ordered[i] = (a & 0xFF) | (a >> 8 & 0xFF00) | (b & 0xFF) << 16 | (b << 8 & 0xFF000000);
            ordered[i + 1] = (a >> 8 & 0xFF) | (a >> 16 & 0xFF00) | (b << 8 & 0xFF0000) | (b & 0xFF000000);
        }
    }
    return ordered;
}

inline void RowWords::put(const Codes& codes, uint32_t shift, uint32_t bits, uint32_t* words) const {
    const Codes ordered = in_order(codes, order);
    const uint32_t mask = ((1U << bits) - 1) * 0x01010101U;
    const uint32_t groups = 8 / bits; // of four codes, in a word
    for (uint32_t group = 0; group < ordered.size(); ++group)
        words[group / groups] |= (ordered[group] >> shift & mask) << (bits * (group % groups));
}

/// Little-endian numbers of the file, at any alignment.
inline uint32_t word_at(const std::byte* bytes) {
    uint32_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}
inline uint16_t half_at(const std::byte* bytes) {
    uint16_t half = 0;
    std::memcpy(&half, bytes, sizeof half);
    return half;
}
inline uint32_t byte_at(const std::byte* bytes) {
    return std::to_integer<uint32_t>(*bytes);
}

/// Writes 16 bits into an array of halves, two per word.
inline void put_half(uint32_t* words, uint32_t index, uint16_t half) {
    words[index / 2] |= uint32_t{half} << (index % 2 * 16);
}

/// Writes a byte into an array of bytes, four per word.
inline void put_byte(uint32_t* words, uint32_t index, uint32_t byte) {
    words[index / 4] |= (byte & 0xFF) << (index % 4 * 8);
}

/// 32 nibbles in 16 bytes, the low halves of all bytes first: Q4_0 and its kin.
inline Codes split_nibbles(const std::byte* bytes) {
    Codes codes{};
    for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t word = word_at(bytes + std::size_t{4} * i);
        codes[i] = word & 0x0F0F0F0F;
        codes[4 + i] = word >> 4 & 0x0F0F0F0F;
    }
    return codes;
}

// repack/legacy.cpp
RepackBlock repack_q8_0;
RepackBlock repack_q4_0;
RepackBlock repack_q4_1;
RepackBlock repack_q5_0;
RepackBlock repack_q5_1;

// repack/k.cpp
RepackBlock repack_q2_k;
RepackBlock repack_q3_k;
RepackBlock repack_q4_k;
RepackBlock repack_q5_k;
RepackBlock repack_q6_k;

// repack/levels.cpp
RepackBlock repack_iq4_nl;
RepackBlock repack_iq4_xs;
RepackBlock repack_mxfp4;

} // namespace etna::kernels
