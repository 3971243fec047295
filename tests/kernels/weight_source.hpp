#pragma once

#include "core/kernels/layout.hpp"
#include "tests/kernels/device_case.hpp"
#include "tests/reference/decode.hpp"
#include "tests/support/weight_format.hpp"

#include <array>
#include <bit>
#include <random>
#include <vector>

namespace etna::test {

/// A random matrix in the encoding of a file, and the values of its elements.
struct WeightSource {
    std::vector<std::byte> bytes;
    reference::Matrix values;
};

/// The same format in a file: both lists are in one order.
inline WeightFormat file_format(kernels::Format format) {
    return all_weight_formats[static_cast<std::size_t>(format)];
}

/// A width near `columns` that the format allows: odd if possible, else a multiple of the block length.
inline uint32_t width_near(kernels::Format format, uint32_t columns) {
    const uint32_t block = block_elements(file_format(format));
    return block == 1 ? columns - 3 : (columns + block - 1) / block * block;
}

/// Precondition: columns is a multiple of the block length.
inline WeightSource random_weight(std::mt19937& random, kernels::Format format, uint32_t rows,
                                  uint32_t columns) {
    WeightSource source;
    RandomNumbers numbers(random());
    const WeightFormat in_file = file_format(format);
    source.bytes = random_weights(in_file, std::size_t{rows} * columns, 0.5, numbers);
    const auto type = static_cast<gguf::TensorType>(type_number(in_file));
    source.values = {.rows = rows, .columns = columns, .values = {}, .type = type};
    const std::size_t row_bytes = source.bytes.size() / rows;
    for (uint32_t row = 0; row < rows; ++row) {
        const ByteView own = ByteView(source.bytes).subspan(row * row_bytes, row_bytes);
        const auto decoded = reference::decode_row(type, own, columns);
        const auto in_half = reference::decode_row_in_half(type, own, columns);
        source.values.values.insert(source.values.values.end(), decoded.begin(), decoded.end());
        source.values.in_half.insert(source.values.in_half.end(), in_half.begin(), in_half.end());
    }
    return source;
}

/// Repacks in two slices if there are enough rows, so that slices are tested too.
inline kernels::Matrix upload_weight(DeviceCase& device, const WeightSource& source, kernels::Layout layout) {
    const auto rows = static_cast<uint32_t>(source.values.rows);
    const auto columns = static_cast<uint32_t>(source.values.columns);
    const kernels::PackedBytes packed = kernels::packed_bytes(layout, rows, columns);
    std::vector<std::byte> weights(packed.weights, std::byte{0xEE});
    std::vector<std::byte> scales(packed.scales, std::byte{0xEE});
    const std::size_t row_bytes = source.bytes.size() / rows;
    const uint32_t cut = rows > kernels::repack_rows ? kernels::repack_rows : rows;
    for (uint32_t first = 0; first < rows; first += cut == rows || first > 0 ? rows : cut) {
        const uint32_t count = first == 0 ? cut : rows - first;
        const auto at = kernels::packed_offset(layout, first, columns);
        const auto size = kernels::packed_bytes(layout, count, columns);
        const Status status = kernels::repack(
            {.layout = layout,
             .row_count = count,
             .columns = columns,
             .source = ByteView(source.bytes).subspan(first * row_bytes, count * row_bytes),
             .weights = MutableByteView(weights).subspan(at.weights, size.weights),
             .scales = size.scales == 0 ? MutableByteView{}
                                        : MutableByteView(scales).subspan(at.scales, size.scales)});
        if (!status)
            FAIL(status.error().message);
    }
    kernels::Matrix matrix{.layout = layout, .rows = rows, .columns = columns};
    matrix.weights = device.upload(weights);
    if (!scales.empty())
        matrix.scales = device.upload(scales);
    return matrix;
}

inline std::vector<kernels::Format> all_formats() {
    std::vector<kernels::Format> formats;
    formats.reserve(kernels::format_count);
    for (uint32_t i = 0; i < kernels::format_count; ++i)
        formats.push_back(static_cast<kernels::Format>(i));
    return formats;
}

} // namespace etna::test
