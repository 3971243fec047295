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
    if (task.row_count == 0 || task.columns == 0 || task.columns % shape.block_columns != 0 ||
        task.source.size() != row_bytes * task.row_count || task.weights.size() != packed.weights ||
        task.scales.size() != packed.scales) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("repacking {} rows of {} columns to {} {}: sizes contradict each other",
                                 task.row_count, task.columns, to_string(task.layout.format),
                                 to_string(task.layout.arrangement))};
    }
    return {};
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
    const RowSizes sizes = row_sizes(task.layout.format, task.columns);
    const uint32_t row_blocks = task.columns / shape.block_columns;
    const uint32_t row_words = sizes.low + sizes.high;
    std::vector<uint32_t> weights(std::size_t{repack_rows} * row_words);
    std::vector<uint32_t> scales(std::size_t{repack_rows} * sizes.scales);
    const std::byte* source = task.source.data();
    for (uint32_t first = 0; first < task.row_count; first += repack_rows) {
        std::fill(weights.begin(), weights.end(), 0);
        std::fill(scales.begin(), scales.end(), 0);
        for (uint32_t row = 0; row < std::min(repack_rows, task.row_count - first); ++row) {
            uint32_t* const low = weights.data() + std::size_t{row} * row_words;
            RowWords words{.low = low,
                           .high = low + sizes.low,
                           .scales = scales.data() + std::size_t{row} * sizes.scales};
            if (shape.repack == nullptr) {
                std::memcpy(words.low, source, std::size_t{row_blocks} * shape.block_bytes);
                source += std::size_t{row_blocks} * shape.block_bytes;
                continue;
            }
            for (uint32_t block = 0; block < row_blocks; ++block, source += shape.block_bytes)
                shape.repack(source, block, words);
        }
        store_words(task.layout.arrangement, first, weights, task.weights);
        store_words(task.layout.arrangement, first, scales, task.scales);
    }
    return {};
}

} // namespace etna::kernels
