#include "core/kernels/packed_matrix.hpp"
#include "tests/kernels/weight_source.hpp"

using namespace etna;
using namespace etna::test;

TEST_CASE("packed weights read on the host equal the file's, to the bit, in every format and arrangement") {
    std::mt19937 random(31);
    constexpr uint32_t rows = 21; // of a third group of eight, five
    for (const auto format : all_formats()) {
        for (const auto arrangement :
             {kernels::Arrangement::rows, kernels::Arrangement::lanes, kernels::Arrangement::tiles}) {
            const kernels::Layout layout{format, arrangement};
            const uint32_t columns = arrangement == kernels::Arrangement::tiles
                                         ? 2 * kernels::tile_columns
                                         : width_near(format, 2 * 256 + 32);
            const WeightSource source = random_weight(random, format, rows, columns);
            const kernels::PackedBytes packed = kernels::packed_bytes(layout, rows, columns);
            std::vector<std::byte> weights(packed.weights, std::byte{0xEE});
            std::vector<std::byte> scales(packed.scales, std::byte{0xEE});
            REQUIRE(kernels::repack({.layout = layout,
                                     .row_count = rows,
                                     .columns = columns,
                                     .source = source.bytes,
                                     .weights = weights,
                                     .scales = scales}));
            const kernels::PackedMatrix matrix(layout, columns, weights, scales);
            for (uint32_t row = 0; row < rows; ++row) {
                for (uint32_t column = 0; column < columns; ++column) {
                    INFO(to_string(format)
                         << " " << to_string(arrangement) << " row " << row << " column " << column);
                    REQUIRE(matrix.at(row, column).value() == source.values.row(row)[column]);
                }
            }
        }
    }
}
