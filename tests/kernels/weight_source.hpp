#pragma once

#include "core/kernels/layout.hpp"
#include "tests/kernels/device_case.hpp"
#include "tests/reference/decode.hpp"

#include <array>
#include <bit>
#include <random>
#include <vector>

namespace etna::test {

/// A random matrix as a file would hold it, and what its elements are worth.
struct WeightSource {
    std::vector<std::byte> bytes;
    reference::Matrix values;
};

inline gguf::TensorType file_type(kernels::Format format) {
    switch (format) {
    case kernels::Format::f32:
        return gguf::TensorType::f32;
    case kernels::Format::f16:
        return gguf::TensorType::f16;
    case kernels::Format::bf16:
        return gguf::TensorType::bf16;
    case kernels::Format::q8:
        return gguf::TensorType::q8_0;
    }
    return gguf::TensorType::f32;
}

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
    const auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
}

/// Precondition: columns is a multiple of 32 for q8.
inline WeightSource random_weight(std::mt19937& random, kernels::Format format, uint32_t rows,
                                  uint32_t columns) {
    WeightSource source;
    const std::size_t count = std::size_t{rows} * columns;
    const std::vector<float> numbers = random_floats(random, count);
    for (std::size_t i = 0; i < count; ++i) {
        if (format == kernels::Format::f32) {
            append(source.bytes, numbers[i]);
        } else if (format == kernels::Format::f16) {
            append(source.bytes, reference::double_to_half(numbers[i]));
        } else if (format == kernels::Format::bf16) {
            append(source.bytes, reference::double_to_bfloat16(numbers[i]));
        } else {
            if (i % 32 == 0)
                append(source.bytes, reference::double_to_half(numbers[i] * 0.01));
            append(source.bytes, static_cast<int8_t>(random() & 0xFF));
        }
    }
    source.values = {.rows = rows, .columns = columns};
    const std::size_t row_bytes = source.bytes.size() / rows;
    for (uint32_t row = 0; row < rows; ++row) {
        const auto decoded = reference::decode_row(
            file_type(format), ByteView(source.bytes).subspan(row * row_bytes, row_bytes), columns);
        source.values.values.insert(source.values.values.end(), decoded.begin(), decoded.end());
    }
    return source;
}

/// Repacks in two slices where there are enough rows, so that slices are tested too.
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

inline constexpr std::array all_formats{kernels::Format::f32, kernels::Format::f16, kernels::Format::bf16,
                                        kernels::Format::q8};

} // namespace etna::test
