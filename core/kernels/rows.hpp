#pragma once

#include "core/kernels/launcher.hpp"
#include "core/kernels/layout.hpp"

#include <cstdint>
#include <string_view>

// Rules of all operations. A call records one dispatch (linear, attention: up to a few) and declares the
// ranges that it touches, from which barriers follow. Sizes are checked against ranges before recording; a
// mismatch goes to Launcher::fail(). All activations are f32. Thread-safe only as far as Launcher is.
namespace etna::kernels {

/// One row of a batch on the device, 24 bytes; mirrored by shaders/include/rows.h.
struct RowInfo {
    uint32_t input = 0; ///< token id, slot with input_is_slot set, or embedding with input_is_embedding set
    uint32_t position = 0;     ///< position in the sequence, where its K and V are stored
    uint32_t attend_begin = 0; ///< it attends to the positions [attend_begin, attend_end), at least one
    uint32_t attend_end = 1;
    uint32_t table = 0; ///< first word of its sequence's page table inside PageTables::range
    uint32_t first_page =
        no_page; ///< first page if the sequence's pages are consecutive, so that no table is read

    static constexpr uint32_t input_is_slot = 0x80000000U;
    static constexpr uint32_t input_is_embedding = 0x40000000U;
    static constexpr uint32_t no_page = 0xFFFFFFFFU;
};
static_assert(sizeof(RowInfo) == 24);

/// Consecutive rows of the batch: RowInfo [count].
struct Rows {
    vk::Range infos = {}; ///< RowInfo of exactly these rows
    uint32_t first = 0;   ///< their first row in the batch's activations
    uint32_t count = 0;
};

/// The numeric path of consecutive rows (engine::RowKind, as kernels know it).
enum class RowPath : uint8_t { prefill, decode };

/// Name of the path: "prefill", "decode".
std::string_view to_string(RowPath path);

/// Whether a kernel may round weights and inputs to f16, as matrix units require.
enum class OperandPrecision : uint8_t { f16_allowed, f32 };

} // namespace etna::kernels
