#include "core/kernels/layout.hpp"

#include "core/kernels/repack/row.hpp"
#include "shaders/variants.hpp"

#include <array>

namespace etna::kernels {
namespace {

static_assert(static_cast<int>(Format::f32) == static_cast<int>(shaders::Format::f32));
static_assert(static_cast<int>(Format::q8_0) == static_cast<int>(shaders::Format::q8_0));
static_assert(static_cast<int>(Format::q5_1) == static_cast<int>(shaders::Format::q5_1));
static_assert(static_cast<int>(Format::q6_k) == static_cast<int>(shaders::Format::q6_k));
static_assert(static_cast<int>(Format::mxfp4) == static_cast<int>(shaders::Format::mxfp4));
static_assert(static_cast<int>(Format::mxfp4) + 1 == format_count);
static_assert(static_cast<int>(Arrangement::lanes) == static_cast<int>(shaders::Arrangement::lanes));
static_assert(static_cast<int>(Arrangement::tiles) == static_cast<int>(shaders::Arrangement::tiles));

constexpr std::array<std::string_view, format_count> names = {
    "f32",  "f16",  "bf16", "q8_0", "q4_0", "q4_1",   "q5_0",   "q5_1",
    "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "mxfp4",
};

// block_columns, block_bytes, low_bits, high_bits, scale_columns, scale_words, record_words, head_bytes,
// tile_order, repack
constexpr std::array<FormatShape, format_count> shapes = {{
    {1, 4, 32, 0, 0, 0, 0, 0, CodeOrder::neighbours, nullptr},
    {1, 2, 16, 0, 0, 0, 0, 0, CodeOrder::neighbours, nullptr},
    {1, 2, 16, 0, 0, 0, 0, 0, CodeOrder::neighbours, nullptr},
    {32, 34, 8, 0, 64, 1, 4, 0, CodeOrder::halves, repack_q8_0},
    {32, 18, 4, 0, 64, 1, 4, 0, CodeOrder::halves, repack_q4_0},
    {32, 20, 4, 0, 32, 1, 8, 0, CodeOrder::halves, repack_q4_1},
    {32, 22, 4, 1, 64, 1, 4, 0, CodeOrder::halves, repack_q5_0},
    {32, 24, 4, 1, 32, 1, 8, 0, CodeOrder::halves, repack_q5_1},
    {256, 84, 2, 0, 256, 5, 4, 4, CodeOrder::halves, repack_q2_k},
    {256, 110, 2, 1, 256, 5, 4, 2, CodeOrder::halves, repack_q3_k},
    {256, 144, 4, 0, 256, 5, 4, 0, CodeOrder::halves, repack_q4_k},
    {256, 176, 4, 1, 256, 5, 4, 0, CodeOrder::halves, repack_q5_k},
    {256, 210, 4, 2, 256, 5, 4, 2, CodeOrder::halves, repack_q6_k},
    {32, 18, 4, 0, 64, 1, 4, 0, CodeOrder::nibbles, repack_iq4_nl},
    {256, 136, 4, 0, 256, 3, 2, 2, CodeOrder::nibbles, repack_iq4_xs},
    {32, 17, 4, 0, 64, 1, 4, 0, CodeOrder::nibbles, repack_mxfp4},
}};

constexpr uint32_t quad_words = 4;

uint32_t whole_quads(uint32_t words) {
    return static_cast<uint32_t>(round_up(words, quad_words));
}

} // namespace

std::string_view to_string(Format format) {
    return names[static_cast<std::size_t>(format)];
}

std::string_view to_string(Arrangement arrangement) {
    switch (arrangement) {
    case Arrangement::rows:
        return "rows";
    case Arrangement::lanes:
        return "lanes";
    case Arrangement::tiles:
        return "tiles";
    }
    return "unknown";
}

const FormatShape& shape_of(Format format) {
    return shapes[static_cast<std::size_t>(format)];
}

uint32_t block_columns(Format format) {
    return shape_of(format).block_columns;
}

RowSizes row_sizes(Format format, uint32_t columns) {
    const FormatShape& shape = shape_of(format);
    const uint32_t blocks = padded_columns(columns) / column_padding;
    RowSizes sizes{.low = whole_quads(blocks * shape.low_bits),
                   .high = whole_quads(blocks * shape.high_bits)};
    if (shape.scale_columns != 0) {
        sizes.scales = static_cast<uint32_t>(round_up(columns, shape.scale_columns)) / shape.scale_columns *
                       shape.scale_words;
    }
    return sizes;
}

TileShape tile_shape(Format format) {
    const FormatShape& shape = shape_of(format);
    TileShape tile;
    tile.head = repack_rows * shape.record_words * 4;
    tile.low = tile.head + repack_rows * shape.head_bytes;
    tile.high = tile.low + repack_rows * shape.low_bits * (tile_columns / column_padding) * 4;
    tile.bytes = tile.high + repack_rows * shape.high_bits * (tile_columns / column_padding) * 4;
    return tile;
}

PackedBytes packed_offset(Layout layout, uint32_t row, uint32_t columns) {
    if (layout.arrangement == Arrangement::tiles) {
        const uint64_t tiles = uint64_t{row / repack_rows} * (columns / tile_columns);
        return {.weights = tiles * tile_shape(layout.format).bytes, .scales = 0};
    }
    const RowSizes sizes = row_sizes(layout.format, columns);
    return {.weights = uint64_t{row} * (sizes.low + sizes.high) * 4,
            .scales = uint64_t{row} * sizes.scales * 4};
}

PackedBytes packed_bytes(Layout layout, uint32_t rows, uint32_t columns) {
    const auto whole_groups = static_cast<uint32_t>(round_up(rows, repack_rows));
    return packed_offset(layout, whole_groups, columns);
}

} // namespace etna::kernels
