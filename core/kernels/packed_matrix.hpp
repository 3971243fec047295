#pragma once

#include "core/base/bytes.hpp"
#include "core/kernels/layout.hpp"

#include <cstdint>

namespace etna::kernels {

/// A weight as the parts stored in the device layout; each is exact, and so is value().
struct PackedWeight {
    double scale = 1;
    double code = 0;
    double offset = 0;

    [[nodiscard]] double value() const { return scale * code + offset; }
};

/// Reads packed weights on the host: what repack() wrote and shaders decode (shaders/include/formats.glsl),
/// decoded element by element from the layout alone, for comparison.
class PackedMatrix {
public:
    /// `weights` and `scales` are borrowed: packed_bytes() of a matrix with these columns.
    PackedMatrix(Layout layout, uint32_t columns, ByteView weights, ByteView scales);

    /// Precondition: the row was packed, column < columns.
    [[nodiscard]] PackedWeight at(uint32_t row, uint32_t column) const;

private:
    [[nodiscard]] PackedWeight plain_at(uint32_t row, uint32_t column) const;
    [[nodiscard]] uint32_t code_at(uint32_t row, uint32_t column) const;
    [[nodiscard]] uint32_t weight_word(uint32_t row, uint32_t word) const;
    [[nodiscard]] uint32_t plane_bits(uint32_t row, uint32_t first_word, uint32_t bits,
                                      uint32_t column) const;
    [[nodiscard]] const std::byte* tile_at(uint32_t row, uint32_t column) const;
    [[nodiscard]] uint32_t tile_bits(uint32_t row, uint32_t section, uint32_t bits, uint32_t column) const;
    [[nodiscard]] uint32_t tile_record(uint32_t row, uint32_t column, uint32_t word) const;
    [[nodiscard]] uint32_t block_scale(uint32_t row, uint32_t column, uint32_t blocks_each) const;
    [[nodiscard]] uint32_t k_scale(uint32_t row, uint32_t column, uint32_t word) const;
    void read_scale(uint32_t row, uint32_t column, PackedWeight& weight) const;

    Layout layout_;
    uint32_t columns_ = 0;
    uint32_t low_words_ = 0; ///< of a row
    uint32_t row_words_ = 0;
    uint32_t row_scale_words_ = 0;
    ByteView weights_;
    ByteView scales_;
};

} // namespace etna::kernels
