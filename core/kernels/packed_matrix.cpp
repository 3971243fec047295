#include "core/kernels/packed_matrix.hpp"

#include "core/base/half.hpp"
#include "core/kernels/repack/row.hpp"

#include <array>
#include <bit>

namespace etna::kernels {
namespace {

/// A format's code values and scale storage.
enum class Coding : uint8_t { plain, unsigned_bits, signed_byte, iq4_levels, e2m1_levels };
enum class Scales : uint8_t {
    none,
    half,       ///< binary16 for 32 elements
    bfloat,     ///< bfloat16 for 32 elements
    pair,       ///< binary16 scale and offset for 32 elements
    k_pairs,    ///< for 256: d and m; for 32: bytes s and t; scale d s, offset -m t
    k_nibbles,  ///< for 256: d and m; for 16: nibbles s and t of a byte
    k_signed16, ///< for 256: d; for 16: a signed byte s; scale d s
    k_signed32, ///< same, for 32
};
struct Meaning {
    Coding codes;
    int32_t zero; ///< the code of value 0
    Scales scales;
};

constexpr std::array<Meaning, format_count> meanings = {{
    {Coding::plain, 0, Scales::none},                // f32
    {Coding::plain, 0, Scales::none},                // f16
    {Coding::plain, 0, Scales::none},                // bf16
    {Coding::signed_byte, 0, Scales::half},          // q8_0
    {Coding::unsigned_bits, 8, Scales::half},        // q4_0
    {Coding::unsigned_bits, 0, Scales::pair},        // q4_1
    {Coding::unsigned_bits, 16, Scales::half},       // q5_0
    {Coding::unsigned_bits, 0, Scales::pair},        // q5_1
    {Coding::unsigned_bits, 0, Scales::k_nibbles},   // q2_k
    {Coding::unsigned_bits, 4, Scales::k_signed16},  // q3_k
    {Coding::unsigned_bits, 0, Scales::k_pairs},     // q4_k
    {Coding::unsigned_bits, 0, Scales::k_pairs},     // q5_k
    {Coding::unsigned_bits, 32, Scales::k_signed16}, // q6_k
    {Coding::iq4_levels, 0, Scales::half},           // iq4_nl
    {Coding::iq4_levels, 0, Scales::k_signed32},     // iq4_xs
    {Coding::e2m1_levels, 0, Scales::bfloat},        // mxfp4
}};

/// kvalues_iq4nl of ggml-common.h, and twice the numbers of E2M1 (OCP Microscaling Formats 1.0).
constexpr std::array<int32_t, 16> iq4_levels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                1,    13,   25,  38,  53,  69,  89,  113};
constexpr std::array<int32_t, 16> e2m1_levels = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

constexpr uint32_t k_columns = 256;

const Meaning& meaning_of(Format format) {
    return meanings[static_cast<std::size_t>(format)];
}

int32_t number_of(const Meaning& meaning, uint32_t code) {
    switch (meaning.codes) {
    case Coding::signed_byte:
        return static_cast<int8_t>(code);
    case Coding::iq4_levels:
        return iq4_levels[code];
    case Coding::e2m1_levels:
        return e2m1_levels[code];
    default:
        return static_cast<int32_t>(code) - meaning.zero;
    }
}

uint32_t byte_of(uint32_t word, uint32_t index) {
    return word >> (8 * index) & 0xFF;
}
uint16_t half_of(uint32_t word, uint32_t index) {
    return static_cast<uint16_t>(word >> (16 * index));
}

/// Word `word` of a row of `row_words`.
uint32_t word_of(ByteView region, Arrangement arrangement, uint32_t row, uint32_t row_words, uint32_t word) {
    const uint64_t index = arrangement == Arrangement::rows
                               ? uint64_t{row} * row_words + word
                               : (uint64_t{row / 8} * row_words + word) * 8 + row % 8;
    return word_at(region.data() + 4 * index);
}

/// Word `word` of a row's part of a section of a tile: 16 bytes of each of eight rows in turn.
uint32_t quad_word(const std::byte* section, uint32_t row, uint32_t word) {
    return word_at(section + std::size_t{16} * (word / 4 * repack_rows + row % repack_rows) +
                   std::size_t{4} * (word % 4));
}

} // namespace

PackedMatrix::PackedMatrix(Layout layout, uint32_t columns, ByteView weights, ByteView scales)
    : layout_(layout), columns_(columns), weights_(weights), scales_(scales) {
    const RowSizes sizes = row_sizes(layout.format, columns);
    low_words_ = sizes.low;
    row_words_ = sizes.low + sizes.high;
    row_scale_words_ = sizes.scales;
}

const std::byte* PackedMatrix::tile_at(uint32_t row, uint32_t column) const {
    const uint64_t tile = uint64_t{row / repack_rows} * (columns_ / tile_columns) + column / tile_columns;
    return weights_.data() + tile * tile_shape(layout_.format).bytes;
}

uint32_t PackedMatrix::weight_word(uint32_t row, uint32_t word) const {
    return word_of(weights_, layout_.arrangement, row, row_words_, word);
}

/// 32 consecutive elements take `bits` words of 8 / bits groups of four; a group occupies the same `bits`
/// bits in all four bytes.
uint32_t PackedMatrix::plane_bits(uint32_t row, uint32_t first_word, uint32_t bits, uint32_t column) const {
    const uint32_t group = column % 32 / 4;
    const uint32_t groups_each = 8 / bits;
    const uint32_t word = weight_word(row, first_word + column / 32 * bits + group / groups_each);
    return byte_of(word, column % 4) >> (group % groups_each * bits) & ((1U << bits) - 1);
}

/// The same in a plane of a tile, whose codes have the order of the format.
uint32_t PackedMatrix::tile_bits(uint32_t row, uint32_t section, uint32_t bits, uint32_t column) const {
    const uint32_t e = column % 8;
    const bool in_nibbles = shape_of(layout_.format).tile_order == CodeOrder::nibbles;
    const uint32_t byte = in_nibbles ? e / 2 : e % 2 * 2 + e / 4;
    const uint32_t group = column % 32 / 8 * 2 + (in_nibbles ? e % 2 : e / 2 % 2);
    const uint32_t groups_each = 8 / bits;
    const uint32_t number = column % tile_columns / 32 * bits + group / groups_each;
    const uint32_t word = quad_word(tile_at(row, column) + section, row, number);
    return byte_of(word, byte) >> (group % groups_each * bits) & ((1U << bits) - 1);
}

uint32_t PackedMatrix::tile_record(uint32_t row, uint32_t column, uint32_t word) const {
    const std::byte* tile = tile_at(row, column);
    const uint32_t record_words = shape_of(layout_.format).record_words;
    return record_words < 4 ? word_at(tile + std::size_t{4} * (row % repack_rows * record_words + word))
                            : quad_word(tile, row, word);
}

/// The word that has the scale of a block of 32; `blocks_each` blocks share a word.
uint32_t PackedMatrix::block_scale(uint32_t row, uint32_t column, uint32_t blocks_each) const {
    if (layout_.arrangement == Arrangement::tiles)
        return tile_record(row, column, column % tile_columns / 32 / blocks_each);
    return word_of(scales_, layout_.arrangement, row, row_scale_words_, column / 32 / blocks_each);
}

/// Word `word` of the scales of 256 columns; the first is d, or d and m.
uint32_t PackedMatrix::k_scale(uint32_t row, uint32_t column, uint32_t word) const {
    const FormatShape& shape = shape_of(layout_.format);
    if (layout_.arrangement != Arrangement::tiles) {
        return word_of(scales_, layout_.arrangement, row, row_scale_words_,
                       column / k_columns * shape.scale_words + word);
    }
    if (shape.head_bytes == 0)
        return tile_record(row, column, word);
    if (word > 0)
        return tile_record(row, column, word - 1);
    const std::byte* head = tile_at(row, column) + tile_shape(layout_.format).head +
                            std::size_t{row % repack_rows} * shape.head_bytes;
    return shape.head_bytes == 2 ? half_at(head) : word_at(head);
}

void PackedMatrix::read_scale(uint32_t row, uint32_t column, PackedWeight& weight) const {
    const Scales scales = meaning_of(layout_.format).scales;
    if (scales == Scales::half || scales == Scales::bfloat) {
        const uint16_t bits = half_of(block_scale(row, column, 2), column / 32 % 2);
        weight.scale = scales == Scales::half ? half_to_float(bits) : bfloat16_to_float(bits);
        return;
    }
    if (scales == Scales::pair) {
        const uint32_t word = block_scale(row, column, 1);
        weight.scale = half_to_float(half_of(word, 0));
        weight.offset = half_to_float(half_of(word, 1));
        return;
    }
    const uint32_t head = k_scale(row, column, 0);
    const double d = half_to_float(half_of(head, 0));
    const double m = half_to_float(half_of(head, 1));
    const uint32_t inside = column % k_columns;
    const auto byte = [&](uint32_t index) { return byte_of(k_scale(row, column, 1 + index / 4), index % 4); };
    const uint32_t block = inside / 32;
    if (scales == Scales::k_pairs &&
        layout_.arrangement == Arrangement::tiles) { // six bits each, as in files
        const uint32_t s = block < 4 ? byte(block) & 63 : (byte(block + 4) & 15) | byte(block - 4) >> 6 << 4;
        const uint32_t t = block < 4 ? byte(block + 4) & 63 : byte(block + 4) >> 4 | byte(block) >> 6 << 4;
        weight.scale = d * s;
        weight.offset = -m * t;
    } else if (scales == Scales::k_pairs) {
        weight.scale = d * byte(block * 2);
        weight.offset = -m * byte(block * 2 + 1);
    } else if (scales == Scales::k_nibbles) {
        weight.scale = d * (byte(inside / 16) & 15);
        weight.offset = -m * (byte(inside / 16) >> 4);
    } else {
        const uint32_t shared_by = scales == Scales::k_signed16 ? 16 : 32;
        weight.scale = d * static_cast<int8_t>(byte(inside / shared_by));
    }
}

PackedWeight PackedMatrix::plain_at(uint32_t row, uint32_t column) const {
    const uint32_t elements_each = layout_.format == Format::f32 ? 1 : 2;
    const uint32_t word = layout_.arrangement == Arrangement::tiles
                              ? quad_word(tile_at(row, column), row, column % tile_columns / elements_each)
                              : weight_word(row, column / elements_each);
    if (layout_.format == Format::f32)
        return {.code = std::bit_cast<float>(word)};
    const uint16_t half = half_of(word, column % 2);
    return {.code = layout_.format == Format::f16 ? half_to_float(half) : bfloat16_to_float(half)};
}

uint32_t PackedMatrix::code_at(uint32_t row, uint32_t column) const {
    const FormatShape& shape = shape_of(layout_.format);
    const bool is_tiled = layout_.arrangement == Arrangement::tiles;
    const TileShape tile = tile_shape(layout_.format);
    uint32_t code = is_tiled ? tile_bits(row, tile.low, shape.low_bits, column)
                             : plane_bits(row, 0, shape.low_bits, column);
    if (shape.high_bits != 0) {
        const uint32_t high = is_tiled ? tile_bits(row, tile.high, shape.high_bits, column)
                                       : plane_bits(row, low_words_, shape.high_bits, column);
        code |= high << shape.low_bits;
    }
    return code;
}

PackedWeight PackedMatrix::at(uint32_t row, uint32_t column) const {
    if (meaning_of(layout_.format).codes == Coding::plain)
        return plain_at(row, column);
    PackedWeight weight;
    weight.code = number_of(meaning_of(layout_.format), code_at(row, column));
    read_scale(row, column, weight);
    return weight;
}

} // namespace etna::kernels
