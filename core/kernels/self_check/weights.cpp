#include "core/kernels/self_check/weights.hpp"

#include "core/kernels/packed_matrix.hpp"
#include "core/kernels/repack/row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace etna::kernels {
namespace {

/// Byte offsets in a file's block of the values that random bits could make infinite: binary16 numbers, or an
/// exponent.
struct ScaleOffsets {
    enum class Kind : uint8_t { half, exponent } kind = Kind::half;
    uint32_t count = 1;
    uint32_t first = 0; ///< a second one follows it
};

ScaleOffsets scale_offsets(Format format) {
    using Kind = ScaleOffsets::Kind;
    switch (format) {
    case Format::q4_1:
    case Format::q5_1:
    case Format::q4_k:
    case Format::q5_k:
        return {Kind::half, 2, 0};
    case Format::q2_k:
        return {Kind::half, 2, 80};
    case Format::q3_k:
        return {Kind::half, 1, 108};
    case Format::q6_k:
        return {Kind::half, 1, 208};
    case Format::mxfp4:
        return {Kind::exponent, 1, 0};
    default: // q8_0, q4_0, q5_0, iq4_nl, iq4_xs; f16, of which every element is a block
        return {Kind::half, 1, 0};
    }
}

/// A binary16 of either sign in [2^-8, 2^-4).
uint16_t usual_half(Noise& noise) {
    const uint32_t bits = noise.bits();
    return static_cast<uint16_t>((bits & 0x83FF) | (7 + (bits >> 16) % 4) << 10);
}

void put_block(Format format, Noise& noise, std::byte* block) {
    if (format == Format::f32) {
        const float number = noise.number();
        std::memcpy(block, &number, sizeof number);
        return;
    }
    if (format == Format::bf16) { // the upper half of a float below 1
        const float number = noise.number();
        std::memcpy(block, reinterpret_cast<const std::byte*>(&number) + 2, 2);
        return;
    }
    for (uint32_t i = 0; i < shape_of(format).block_bytes; ++i)
        block[i] = static_cast<std::byte>(noise.bits() >> 24);
    const ScaleOffsets offsets = scale_offsets(format);
    if (offsets.kind == ScaleOffsets::Kind::exponent) {
        block[offsets.first] = static_cast<std::byte>(120 + noise.bits() % 4); // 2^-7 to 2^-4
        return;
    }
    for (uint32_t i = 0; i < offsets.count; ++i) {
        const uint16_t half = usual_half(noise);
        std::memcpy(block + offsets.first + std::size_t{2} * i, &half, sizeof half);
    }
}

/// [rows][columns] as in a file.
std::vector<std::byte> random_rows(Noise& noise, Format format, uint32_t rows, uint32_t columns) {
    const FormatShape& shape = shape_of(format);
    const uint64_t blocks = uint64_t{rows} * columns / shape.block_columns;
    std::vector<std::byte> bytes(blocks * shape.block_bytes);
    for (uint64_t i = 0; i < blocks; ++i)
        put_block(format, noise, bytes.data() + i * shape.block_bytes);
    return bytes;
}

} // namespace

NoiseMatrices put_weights(KernelRun& run, Noise& noise, const NoiseShape& shape) {
    const PackedBytes packed = packed_bytes(shape.layout, shape.rows, shape.columns);
    std::vector<std::byte> weights(packed.weights * shape.count);
    std::vector<std::byte> scales(packed.scales * shape.count);
    NoiseMatrices made{.device = {.layout = shape.layout, .rows = shape.rows, .columns = shape.columns}};
    made.values.reserve(uint64_t{shape.count} * shape.rows * shape.columns);
    made.sizes.reserve(made.values.capacity());
    for (uint32_t index = 0; index < shape.count; ++index) {
        const auto source = random_rows(noise, shape.layout.format, shape.rows, shape.columns);
        const MutableByteView own_weights =
            MutableByteView(weights).subspan(index * packed.weights, packed.weights);
        const MutableByteView own_scales =
            MutableByteView(scales).subspan(index * packed.scales, packed.scales);
        if (Status done = repack({.layout = shape.layout,
                                  .row_count = shape.rows,
                                  .columns = shape.columns,
                                  .source = source,
                                  .weights = own_weights,
                                  .scales = own_scales});
            !done)
            run.fail(std::move(done).error());
        const PackedMatrix matrix(shape.layout, shape.columns, own_weights, own_scales);
        for (uint32_t row = 0; row < shape.rows; ++row) {
            for (uint32_t column = 0; column < shape.columns; ++column) {
                const PackedWeight weight = matrix.at(row, column);
                made.values.push_back(weight.value());
                made.sizes.push_back(std::abs(weight.scale * weight.code) + std::abs(weight.offset));
            }
        }
    }
    made.device.weights = run.put(weights);
    if (!scales.empty())
        made.device.scales = run.put(scales);
    return made;
}

uint32_t odd_columns(Format format, uint32_t columns) {
    const uint32_t block = block_columns(format);
    return block == 1 ? columns | 1 : static_cast<uint32_t>(round_up(columns, block));
}

uint32_t fitting_columns(Layout layout, uint32_t columns) {
    return layout.arrangement == Arrangement::tiles ? static_cast<uint32_t>(round_up(columns, tile_columns))
                                                    : odd_columns(layout.format, columns);
}

Bounded product(const NoiseMatrices& matrices, uint64_t row, std::span<const float> x) {
    const double* values = matrices.values.data() + row * x.size();
    const double* sizes = matrices.sizes.data() + row * x.size();
    double sum = 0;
    double size = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        sum += values[k] * x[k];
        size += sizes[k] * std::abs(x[k]);
    }
    return {sum, (static_cast<double>(x.size()) + 4) * rounding * size};
}

} // namespace etna::kernels
