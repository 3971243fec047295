#include "core/kernels/layout.hpp"
#include "core/kernels/repack/row.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

namespace etna::kernels {
namespace {

Status check(const Repack& task) {
    const FormatShape& shape = shape_of(task.layout.format);
    const uint64_t row_bytes = uint64_t{task.columns} / shape.block_columns * shape.block_bytes;
    const PackedBytes packed = packed_bytes(task.layout, task.row_count, task.columns);
    const bool is_whole = task.layout.arrangement != Arrangement::tiles || task.columns % tile_columns == 0;
    if (task.row_count == 0 || task.columns == 0 || task.columns % shape.block_columns != 0 || !is_whole ||
        task.source.size() != row_bytes * task.row_count || task.weights.size() != packed.weights ||
        task.scales.size() != packed.scales) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("repacking {} rows of {} columns to {} {}: sizes contradict each other",
                                 task.row_count, task.columns, to_string(task.layout.format),
                                 to_string(task.layout.arrangement))};
    }
    return {};
}

/// Eight rows in device words, [row][word].
struct EightRows {
    RowSizes sizes;
    std::vector<uint32_t> weights; ///< low plane, then high plane of a row
    std::vector<uint32_t> scales;
};

/// The words of one row of a tile in a row's scales: head, if the format has one, then record.
uint32_t tile_scale_words(const FormatShape& shape) {
    return shape.record_words + (shape.head_bytes > 0 ? 1 : 0);
}

/// Stores `words` words of a plane of a row: 16 bytes of each of eight rows in turn.
void store_quads(const uint32_t* words, uint32_t count, uint32_t row, std::byte* section) {
    constexpr std::size_t quad_bytes = 16;
    for (uint32_t quad = 0; quad < count / 4; ++quad) {
        std::memcpy(section + quad_bytes * (quad * repack_rows + row), words + std::size_t{4} * quad,
                    quad_bytes);
    }
}

/// Stores a group of eight rows as tiles; sections as in TileShape.
void store_tiles(const Repack& task, uint32_t first, const EightRows& rows) {
    const FormatShape& shape = shape_of(task.layout.format);
    const TileShape tile = tile_shape(task.layout.format);
    const uint32_t low_words = shape.low_bits * (tile_columns / column_padding);
    const uint32_t high_words = shape.high_bits * (tile_columns / column_padding);
    const uint32_t row_words = rows.sizes.low + rows.sizes.high;
    std::byte* to = task.weights.data() + packed_offset(task.layout, first, task.columns).weights;
    for (uint32_t at = 0; at < task.columns / tile_columns; ++at, to += tile.bytes) {
        for (uint32_t row = 0; row < repack_rows; ++row) {
            const uint32_t* words = rows.weights.data() + std::size_t{row} * row_words;
            const uint32_t* record = rows.scales.data() + std::size_t{row} * rows.sizes.scales +
                                     std::size_t{at} * tile_scale_words(shape);
            std::memcpy(to + tile.head + std::size_t{row} * shape.head_bytes, record, shape.head_bytes);
            record += shape.head_bytes > 0 ? 1 : 0;
            const std::size_t record_bytes = shape.record_words * sizeof(uint32_t);
            if (shape.record_words < 4)
                std::memcpy(to + row * record_bytes, record, record_bytes);
            store_quads(record, shape.record_words, row, to);
            store_quads(words + std::size_t{at} * low_words, low_words, row, to + tile.low);
            store_quads(words + rows.sizes.low + std::size_t{at} * high_words, high_words, row,
                        to + tile.high);
        }
    }
}

/// Stores the words of eight rows, [row][word], at row `first`: contiguous, or a word of each row in turn.
void store_words(Arrangement arrangement, uint32_t first, const std::vector<uint32_t>& words,
                 MutableByteView region) {
    const std::size_t count = words.size() / repack_rows;
    auto* to = reinterpret_cast<uint32_t*>(region.data()) + first * count;
    if (count == 0)
        return;
    if (arrangement == Arrangement::rows) {
        std::memcpy(to, words.data(), words.size() * 4);
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t row = 0; row < repack_rows; ++row)
            to[i * repack_rows + row] = words[row * count + i];
    }
}

} // namespace

Status repack(const Repack& task) {
    ETNA_CHECK(check(task));
    const FormatShape& shape = shape_of(task.layout.format);
    const bool is_tiled = task.layout.arrangement == Arrangement::tiles;
    EightRows rows{.sizes = row_sizes(task.layout.format, task.columns), .weights = {}, .scales = {}};
    if (is_tiled)
        rows.sizes.scales = task.columns / tile_columns * tile_scale_words(shape);
    const uint32_t row_blocks = task.columns / shape.block_columns;
    const uint32_t row_words = rows.sizes.low + rows.sizes.high;
    rows.weights.resize(std::size_t{repack_rows} * row_words);
    rows.scales.resize(std::size_t{repack_rows} * rows.sizes.scales);
    const std::byte* source = task.source.data();
    for (uint32_t first = 0; first < task.row_count; first += repack_rows) {
        std::fill(rows.weights.begin(), rows.weights.end(), 0);
        std::fill(rows.scales.begin(), rows.scales.end(), 0);
        for (uint32_t row = 0; row < std::min(repack_rows, task.row_count - first); ++row) {
            uint32_t* const low = rows.weights.data() + std::size_t{row} * row_words;
            RowWords words{.low = low,
                           .high = low + rows.sizes.low,
                           .scales = rows.scales.data() + std::size_t{row} * rows.sizes.scales,
                           .is_tiled = is_tiled,
                           .order = is_tiled ? shape.tile_order : CodeOrder::neighbours};
            if (shape.repack == nullptr) {
                std::memcpy(words.low, source, std::size_t{row_blocks} * shape.block_bytes);
                source += std::size_t{row_blocks} * shape.block_bytes;
                continue;
            }
            for (uint32_t block = 0; block < row_blocks; ++block, source += shape.block_bytes)
                shape.repack(source, block, words);
        }
        if (is_tiled) {
            store_tiles(task, first, rows);
            continue;
        }
        store_words(task.layout.arrangement, first, rows.weights, task.weights);
        store_words(task.layout.arrangement, first, rows.scales, task.scales);
    }
    return {};
}

} // namespace etna::kernels
