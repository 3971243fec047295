#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/vk/range.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace etna::kernels {

/// Activation rows and packed weight rows are padded with zeros to a multiple of this many elements, so that
/// shaders load 16-byte words without a check.
constexpr uint32_t column_padding = 32;

/// Device storage format of weights, named as in files; numbers as in shaders/include/formats.glsl. Quantised
/// formats hold the file's values, split into planes of codes and a region of scales (plane_codes.glsl and
/// scales.glsl there), so that shaders load aligned words.
enum class Format : uint8_t {
    f32,
    f16,
    bf16,
    q8_0,
    q4_0,
    q4_1,
    q5_0,
    q5_1,
    q2_k,
    q3_k,
    q4_k,
    q5_k,
    q6_k,
    iq4_nl,
    iq4_xs,
    mxfp4,
};
constexpr uint32_t format_count = 16;

/// Order of a matrix's words, numbered as in shaders/include/formats.glsl.
enum class Arrangement : uint8_t {
    rows,  ///< row after row; a subgroup walks along one row
    lanes, ///< groups of 8 rows, [group][word of the row][8 rows]; a lane owns a row
    tiles, ///< [group of 8 rows][256 columns]: codes and scales side by side (shaders/include/tiles.glsl)
};

/// Columns of a tile; the width of a matrix in tiles is a multiple of this.
constexpr uint32_t tile_columns = 256;

struct Layout {
    Format format = Format::f32;
    Arrangement arrangement = Arrangement::rows;

    bool operator==(const Layout&) const = default;
};

std::string_view to_string(Format format);

/// The number of columns of a matrix is a multiple of this: 1, 32 or 256.
uint32_t block_columns(Format format);

std::string_view to_string(Arrangement arrangement);

/// Bytes that a [rows, columns] matrix takes on the device, multiples of 16; scale bytes are 0 for formats
/// without scales, and in tiles. Equal for rows and lanes.
struct PackedBytes {
    uint64_t weights = 0;
    uint64_t scales = 0;
};
PackedBytes packed_bytes(Layout layout, uint32_t rows, uint32_t columns);

/// Repacking works on groups of this many rows.
constexpr uint32_t repack_rows = 8;

/// Repacks rows [first_row, first_row + row_count) of a file's matrix into the device layout. `source` holds
/// exactly these rows as a GGUF file has them; first_row is a multiple of repack_rows, and row_count too
/// unless it reaches the last row. `weights` and `scales` are the packed bytes of the same rows only:
/// packed_bytes(layout, row_count, columns). Padding is written as zeros. Error: invalid_argument if sizes
/// are inconsistent, or the columns are not a multiple of the block length or, in tiles, of tile_columns.
struct Repack {
    Layout layout;
    uint32_t row_count = 0;
    uint32_t columns = 0;
    ByteView source;
    MutableByteView weights;
    MutableByteView scales;
};
Status repack(const Repack& task);

/// Offsets of a row inside the packed weights and scales. Precondition: row is a multiple of repack_rows.
PackedBytes packed_offset(Layout layout, uint32_t row, uint32_t columns);

/// Consecutive rows of a matrix, packed separately.
struct MatrixPart {
    uint32_t rows = 0;
    vk::Range weights = {};
    vk::Range scales = {}; ///< empty for formats without scales
};

/// A weight matrix on the device, [rows, columns]: y = W x has `rows` elements. A matrix larger than one
/// allocation consists of several parts; the first is in `weights` and `scales`.
struct Matrix {
    Layout layout;
    uint32_t rows = 0;
    uint32_t columns = 0;
    vk::Range weights = {};
    vk::Range scales = {};
    std::span<const MatrixPart> further = {}; ///< parts with the rows after the first part's; borrowed

    /// Calls visit(part, first row) for each part.
    template <class Visit>
    void for_each_part(Visit visit) const {
        uint32_t first = rows;
        for (const MatrixPart& part : further)
            first -= part.rows;
        visit(MatrixPart{.rows = first, .weights = weights, .scales = scales}, 0U);
        for (const MatrixPart& part : further) {
            visit(part, first);
            first += part.rows;
        }
    }
};

/// Bytes of a row of activations as packed blocks (shaders/include/packed.glsl).
constexpr uint64_t packed_row_bytes(uint32_t columns) {
    constexpr uint64_t block_bytes = 1472;
    return columns / tile_columns * block_bytes;
}

/// Bytes of a row of activations in f16 with one factor (shaders/include/f16_row.glsl).
constexpr uint64_t f16_row_bytes(uint32_t columns) {
    return uint64_t{columns} * 2 + 16;
}

/// The forms of activations that matrices in tiles read.
enum class PackedForm : uint8_t {
    blocks, ///< decode rows, and experts: packed_row_bytes()
    f16,    ///< prefill rows, on matrix units: f16_row_bytes()
};
constexpr uint64_t row_bytes(PackedForm form, uint32_t columns) {
    return form == PackedForm::blocks ? packed_row_bytes(columns) : f16_row_bytes(columns);
}

/// Activations on the device: f32, [row][stride], of which `columns` are used; the rest are zeros and never
/// written. `stride` is a multiple of column_padding.
struct Activations {
    vk::Range range;
    uint32_t columns = 0;
    uint32_t stride = 0;
    vk::Range packed =
        {}; ///< the same rows as PackedForm::blocks, [row] packed_row_bytes(); empty: there are none
    vk::Range f16 = {}; ///< the same rows as PackedForm::f16, [row] f16_row_bytes(); empty: there are none

    [[nodiscard]] vk::Range rows(uint32_t first, uint32_t count) const {
        return range.part(uint64_t{first} * stride * 4, uint64_t{count} * stride * 4);
    }
    [[nodiscard]] vk::Range packed_rows(uint32_t first, uint32_t count) const {
        return packed.part(first * packed_row_bytes(columns), count * packed_row_bytes(columns));
    }
    [[nodiscard]] const vk::Range& form(PackedForm form) const {
        return form == PackedForm::blocks ? packed : f16;
    }
    [[nodiscard]] vk::Range form_rows(PackedForm which, uint32_t first, uint32_t count) const {
        const uint64_t bytes = row_bytes(which, columns);
        return form(which).part(first * bytes, count * bytes);
    }
    /// Whether there is room for rows [0, end) in this form.
    [[nodiscard]] bool has_form(PackedForm which, uint64_t end) const {
        return columns >= tile_columns && columns % tile_columns == 0 &&
               form(which).bytes >= end * row_bytes(which, columns);
    }
    /// Rows [first, first + count) with their packed forms, if there are any.
    [[nodiscard]] Activations part(uint32_t first, uint32_t count) const {
        return {.range = rows(first, count),
                .columns = columns,
                .stride = stride,
                .packed = packed.bytes > 0 ? packed_rows(first, count) : vk::Range{},
                .f16 = f16.bytes > 0 ? form_rows(PackedForm::f16, first, count) : vk::Range{}};
    }
};

constexpr uint32_t padded_columns(uint32_t columns) {
    return (columns + column_padding - 1) / column_padding * column_padding;
}

/// How the result is stored.
enum class Store : uint8_t { replace, add };

} // namespace etna::kernels
