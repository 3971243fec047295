#include "core/kernels/operations/heads_product.hpp"

#include "core/base/bytes.hpp"
#include "core/kernels/operations/stack_product.hpp"
#include "core/kernels/record.hpp"

#include <algorithm>
#include <bit>

namespace etna::kernels {
namespace {

constexpr uint32_t tile_rows_max = 8;    ///< of the batch, of one workgroup
constexpr uint32_t groups_y_max = 65535; ///< every Vulkan device has at least these

bool part_fits(const Launcher& launcher, const HeadParts& part, uint32_t heads, uint32_t columns,
               uint64_t end) {
    return require(launcher,
                   part.columns == columns && part.columns <= part.head_dim && part.head_dim % 4 == 0 &&
                       part.rows.columns == heads * part.head_dim && part.rows.stride == part.rows.columns &&
                       part.rows.range.bytes >= end * part.rows.stride * 4,
                   "heads_product", "heads differ from the matrices, have padding, or are short");
}

bool fits(const Launcher& launcher, const HeadsProduct& operation) {
    constexpr std::string_view name = "heads_product";
    const Matrix& one = operation.weights.matrices;
    const uint32_t heads = operation.weights.count;
    const PackedBytes packed = packed_bytes(one.layout, one.rows, one.columns);
    const uint64_t end = uint64_t{operation.first} + operation.count;
    return require(launcher, heads > 0 && heads <= groups_y_max, name, "no heads, or too many") &&
           require(launcher,
                   one.layout.arrangement != Arrangement::tiles && one.columns % column_padding == 0, name,
                   "matrices are in tiles, or of an odd width") &&
           require(launcher,
                   one.weights.bytes >= heads * packed.weights && one.scales.bytes >= heads * packed.scales,
                   name, "weights are shorter than their shape") &&
           part_fits(launcher, operation.input, heads, one.columns, end) &&
           part_fits(launcher, operation.output, heads, one.rows, end);
}

/// Rows [first, first + count), few enough for one dispatch. A workgroup has several rows of one head.
void launch_rows(const Launcher& launcher, const HeadsProduct& operation, uint32_t first, uint32_t count) {
    const uint32_t heads = operation.weights.count;
    const uint32_t tile_rows = std::min(std::bit_ceil(count), tile_rows_max);
    launch_stack_product(launcher, {.weights = operation.weights,
                                    .input = operation.input.rows.rows(first, count),
                                    .output = operation.output.rows.rows(first, count),
                                    .pairs = count * heads,
                                    .tile_pairs = tile_rows,
                                    .tiles = heads * divide_up(count, tile_rows),
                                    .input_stride = operation.input.head_dim,
                                    .output_stride = operation.output.head_dim});
}

} // namespace

void heads_product(const Launcher& launcher, const HeadsProduct& operation) {
    if (operation.count == 0 || !fits(launcher, operation))
        return;
    const uint32_t rows_max = groups_y_max / operation.weights.count * tile_rows_max;
    for (uint32_t done = 0; done < operation.count; done += rows_max) {
        launch_rows(launcher, operation, operation.first + done, std::min(rows_max, operation.count - done));
    }
}

} // namespace etna::kernels
