#pragma once

#include "core/kernels/operations/linear.hpp"
#include "core/kernels/operations/pack.hpp"
#include "core/kernels/policy.hpp"
#include "tests/kernels/weight_source.hpp"
#include "tests/reference/operations.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace etna::test {

/// The arrangement in which the device loads a matrix of this case.
inline kernels::Layout layout_of(DeviceCase& device, kernels::Format format, uint32_t columns) {
    return {format, kernels::matrix_arrangement(device.library().target(), format, columns)};
}

/// Adds the packed form to rows on the device if a matrix in this layout reads them.
inline void add_packed(DeviceCase& device, kernels::Layout layout, kernels::Activations& rows) {
    if (layout.arrangement != kernels::Arrangement::tiles)
        return;
    const auto count = static_cast<uint32_t>(rows.range.bytes / 4 / rows.stride);
    rows.packed = device.upload(std::vector<std::byte>(count * kernels::packed_row_bytes(rows.columns)));
    const bool reads_f16 = kernels::prompts_read_packed(device.library().target());
    if (reads_f16)
        rows.f16 = device.upload(std::vector<std::byte>(count * kernels::f16_row_bytes(rows.columns)));
    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
        kernels::pack({library, recorder}, {.rows = rows, .count = count});
        if (reads_f16)
            kernels::pack({library, recorder},
                          {.rows = rows, .form = kernels::PackedForm::f16, .count = count});
    });
}

/// Memory for the parts of sums of a matrix; empty if they are not split.
inline vk::Range parts_for(DeviceCase& device, const kernels::Matrix& weight, kernels::RowPath path,
                           uint32_t count) {
    const uint64_t bytes = kernels::linear_part_bytes(device.library().target(), weight.layout, weight.rows,
                                                      weight.columns, path, count);
    return bytes > 0 ? device.upload(std::vector<std::byte>(bytes, std::byte{0xFF})) : vk::Range{};
}

/// |device - exact| of a sum of n products in float, in any order: (n + 4) x 2^-24 x sum of |products| and
/// of the addends.
inline double product_bound(const reference::Matrix& weight, std::size_t row, std::span<const double> x,
                            double added) {
    double magnitudes = 0;
    for (std::size_t k = 0; k < weight.columns; ++k)
        magnitudes += std::abs(weight.row(row)[k] * x[k]);
    return (static_cast<double>(weight.columns) + 4) * 0x1p-24 * (magnitudes + added);
}

/// The same for inputs rounded to f16: 2^-11 of each product at random, so 3e-4 of their norm, which random
/// signs would give y; ten times as much never occurs.
inline double tiles_bound(const reference::Matrix& weight, std::size_t row, std::span<const double> x,
                          bool from_codes = false) {
    if (from_codes) // nothing is rounded but the sums
        return 16 * product_bound(weight, row, x, 2);
    double squares = 0;
    for (std::size_t k = 0; k < weight.columns; ++k)
        squares += weight.row(row)[k] * x[k] * weight.row(row)[k] * x[k];
    return 3e-3 * std::sqrt(squares) + 16 * product_bound(weight, row, x, 2);
}

/// The numbers that codes of rows on the device represent, of 1 byte or with fine codes of 2,
/// [rows][columns]: see shaders/include/packed.glsl.
inline std::vector<float> coded_rows(DeviceCase& device, const kernels::Activations& rows,
                                     uint32_t code_bytes) {
    constexpr std::size_t quarter_bytes = 368;
    constexpr std::array places{0, 2, 4, 6, 1, 3, 5, 7};
    const std::vector<std::byte> blocks = device.download_bytes(rows.packed);
    std::vector<float> values;
    for (std::size_t at = 0; at < blocks.size(); at += quarter_bytes) {
        float scale = 0;
        std::memcpy(&scale, blocks.data() + at + (code_bytes == 2 ? 8 : 4), sizeof scale);
        for (std::size_t i = 0; i < 64; ++i) {
            const std::size_t byte = at + i / 8 * 8 + static_cast<std::size_t>(places[i % 8]);
            const int code = static_cast<int8_t>(blocks[byte + 240]);
            const int fine = static_cast<int8_t>(blocks[byte + 304]);
            values.push_back(scale * static_cast<float>(code_bytes == 2 ? 256 * code + fine : code));
        }
    }
    return values;
}

/// Bytes of the codes that decode rows of a matrix in tiles read; 0: they read f16.
inline uint32_t code_bytes(DeviceCase& device, kernels::Layout layout, uint32_t rows, uint32_t columns) {
    return kernels::linear_plan(device.library().target(), layout, rows, columns, kernels::RowPath::decode, 1)
        .value()
        .code_bytes;
}

/// The kernels of this format that read codes of their inputs.
inline kernels::VariantSet codes_kernels(kernels::Format format) {
    const auto axis = static_cast<shaders::Format>(format);
    kernels::VariantSet kernels;
    for (const auto variant :
         {shaders::linear_codes(axis), shaders::fused_codes(axis), shaders::heads_codes(axis),
          shaders::expert_codes(axis), shaders::expert_down_codes(axis)})
        kernels.add(variant);
    return kernels;
}

/// Rows on the device as a matrix in tiles reads them, and their values.
struct TilesInput {
    kernels::Activations rows;
    std::optional<kernels::PendingNorm> norm;
    std::vector<reference::Vector> columns; ///< the factors of the matrix, by row

    [[nodiscard]] const reference::Vector& column(uint32_t row) const { return columns[row]; }
};

/// Random rows; `pending`: of a norm that the matrix is to finish; `code_bytes`: of the codes that it reads,
/// or 0.
inline TilesInput random_input(DeviceCase& device, std::mt19937& random, uint32_t count, uint32_t columns,
                               bool pending, uint32_t code_bytes = 0) {
    constexpr float epsilon = 1e-3F;
    const std::vector<float> x = random_floats(random, std::size_t{count} * columns);
    const std::vector<float> weight = random_floats(random, columns);
    std::vector<float> scaled = x;
    std::vector<float> squares(std::size_t{count} * (columns / kernels::tile_columns));
    TilesInput input;
    std::vector<double> factors;
    for (uint32_t r = 0; r < count; ++r) {
        double sum = 0;
        for (uint32_t k = 0; k < columns; ++k) {
            const std::size_t at = std::size_t{r} * columns + k;
            sum += double{x[at]} * x[at];
            squares[at / kernels::tile_columns] += x[at] * x[at];
            if (pending)
                scaled[at] *= weight[k];
        }
        factors.push_back(pending ? 1 / std::sqrt(sum / columns + epsilon) : 1);
    }
    input.rows = device.upload_rows(scaled, count, columns);
    add_packed(device, {.format = kernels::Format::f16, .arrangement = kernels::Arrangement::tiles},
               input.rows);
    const std::vector<float> read = code_bytes > 0 ? coded_rows(device, input.rows, code_bytes) : scaled;
    for (uint32_t r = 0; r < count; ++r) {
        reference::Vector column;
        for (uint32_t k = 0; k < columns; ++k)
            column.push_back(factors[r] * read[std::size_t{r} * columns + k]);
        input.columns.push_back(std::move(column));
    }
    if (pending)
        input.norm = kernels::PendingNorm{.squares = device.upload(squares), .epsilon = epsilon};
    return input;
}

} // namespace etna::test
