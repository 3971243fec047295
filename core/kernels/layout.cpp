#include "core/kernels/layout.hpp"

#include "shaders/variants.hpp"

namespace etna::kernels {
namespace {

static_assert(static_cast<int>(Format::f32) == static_cast<int>(shaders::Format::f32));
static_assert(static_cast<int>(Format::f16) == static_cast<int>(shaders::Format::f16));
static_assert(static_cast<int>(Format::bf16) == static_cast<int>(shaders::Format::bf16));
static_assert(static_cast<int>(Format::q8) == static_cast<int>(shaders::Format::q8));
static_assert(static_cast<int>(Arrangement::lanes) == static_cast<int>(shaders::Arrangement::lanes));

constexpr uint64_t block_columns = 32;

uint64_t element_bytes_per_block(Format format) {
    switch (format) {
    case Format::f32:
        return 128;
    case Format::f16:
    case Format::bf16:
        return 64;
    case Format::q8:
        return 32;
    }
    return 0;
}

/// Bytes of one scale on the device, 0 for formats without.
uint64_t scale_bytes(Layout layout) {
    if (layout.format != Format::q8)
        return 0;
    return layout.arrangement == Arrangement::rows ? 2 : 4;
}

} // namespace

std::string_view to_string(Format format) {
    switch (format) {
    case Format::f32:
        return "f32";
    case Format::f16:
        return "f16";
    case Format::bf16:
        return "bf16";
    case Format::q8:
        return "q8";
    }
    return "unknown";
}

std::string_view to_string(Arrangement arrangement) {
    return arrangement == Arrangement::rows ? "rows" : "lanes";
}

PackedBytes packed_offset(Layout layout, uint32_t row, uint32_t columns) {
    const uint64_t blocks = padded_columns(columns) / block_columns;
    return {.weights = row * blocks * element_bytes_per_block(layout.format),
            .scales = row * blocks * scale_bytes(layout)};
}

PackedBytes packed_bytes(Layout layout, uint32_t rows, uint32_t columns) {
    const auto whole_groups = static_cast<uint32_t>(round_up(rows, repack_rows));
    return packed_offset(layout, whole_groups, columns);
}

} // namespace etna::kernels
