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

/// Destination of a row's words: contiguous, or eight words apart.
void store_words(Arrangement arrangement, uint32_t row, const std::vector<uint32_t>& words,
                 MutableByteView region) {
    if (words.empty())
        return;
    auto* to = reinterpret_cast<uint32_t*>(region.data());
    if (arrangement == Arrangement::rows) {
        std::memcpy(to + row * words.size(), words.data(), words.size() * 4);
        return;
    }
    to += row / 8 * words.size() * 8 + row % 8;
    for (std::size_t i = 0; i < words.size(); ++i)
        to[i * 8] = words[i];
}

} // namespace

Status repack(const Repack& task) {
    ETNA_CHECK(check(task));
    const FormatShape& shape = shape_of(task.layout.format);
    const RowSizes sizes = row_sizes(task.layout.format, task.columns);
    const uint32_t row_blocks = task.columns / shape.block_columns;
    std::vector<uint32_t> weights(sizes.low + sizes.high);
    std::vector<uint32_t> scales(sizes.scales);
    const std::byte* source = task.source.data();
    const auto whole_rows = static_cast<uint32_t>(round_up(task.row_count, repack_rows));
    for (uint32_t row = 0; row < whole_rows; ++row) {
        std::fill(weights.begin(), weights.end(), 0);
        std::fill(scales.begin(), scales.end(), 0);
        RowWords words{.low = weights.data(), .high = weights.data() + sizes.low, .scales = scales.data()};
        if (row < task.row_count && shape.repack == nullptr) {
            std::memcpy(words.low, source, std::size_t{row_blocks} * shape.block_bytes);
            source += std::size_t{row_blocks} * shape.block_bytes;
        } else if (row < task.row_count) {
            for (uint32_t block = 0; block < row_blocks; ++block, source += shape.block_bytes)
                shape.repack(source, block, words);
        }
        store_words(task.layout.arrangement, row, weights, task.weights);
        store_words(task.layout.arrangement, row, scales, task.scales);
    }
    return {};
}

} // namespace etna::kernels
